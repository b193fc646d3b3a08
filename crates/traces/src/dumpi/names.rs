//! Names of the numbers that DUMPI gives to MPI's own objects.
//!
//! Facts: sst-dumpi, `dumpi/common/constants.h` and `constants.c`.

/// `MPI_COMM_WORLD`.
pub const COMM_WORLD: u16 = 2;
/// `MPI_COMM_SELF`.
pub const COMM_SELF: u16 = 3;

const DATATYPES: [&str; 28] = [
    "MPI_DATATYPE_ERROR",
    "MPI_DATATYPE_NULL",
    "MPI_CHAR",
    "MPI_SIGNED_CHAR",
    "MPI_UNSIGNED_CHAR",
    "MPI_BYTE",
    "MPI_WCHAR",
    "MPI_SHORT",
    "MPI_UNSIGNED_SHORT",
    "MPI_INT",
    "MPI_UNSIGNED",
    "MPI_LONG",
    "MPI_UNSIGNED_LONG",
    "MPI_FLOAT",
    "MPI_DOUBLE",
    "MPI_LONG_DOUBLE",
    "MPI_LONG_LONG_INT",
    "MPI_UNSIGNED_LONG_LONG",
    "MPI_LONG_LONG",
    "MPI_PACKED",
    "MPI_LB",
    "MPI_UB",
    "MPI_FLOAT_INT",
    "MPI_DOUBLE_INT",
    "MPI_LONG_INT",
    "MPI_SHORT_INT",
    "MPI_2INT",
    "MPI_LONG_DOUBLE_INT",
];

const COMMS: [&str; 4] = [
    "MPI_COMM_ERROR",
    "MPI_COMM_NULL",
    "MPI_COMM_WORLD",
    "MPI_COMM_SELF",
];

const GROUPS: [&str; 3] = ["MPI_GROUP_ERROR", "MPI_GROUP_NULL", "MPI_GROUP_EMPTY"];

const KEYVALS: [&str; 10] = [
    "MPI_TAG_UB",
    "MPI_HOST",
    "MPI_IO",
    "MPI_WTIME_IS_GLOBAL",
    "MPI_UNIVERSE_SIZE",
    "MPI_LASTUSEDCODE",
    "MPI_APPNUM",
    "MPI_WIN_BASE",
    "MPI_WIN_SIZE",
    "MPI_WIN_DISP_UNIT",
];

const OPS: [&str; 15] = [
    "MPI_OP_ERROR",
    "MPI_MAX",
    "MPI_MIN",
    "MPI_SUM",
    "MPI_PROD",
    "MPI_LAND",
    "MPI_BAND",
    "MPI_LOR",
    "MPI_BOR",
    "MPI_LXOR",
    "MPI_BXOR",
    "MPI_MINLOC",
    "MPI_MAXLOC",
    "MPI_REPLACE",
    "MPI_OP_NULL",
];

const COMPARISONS: [&str; 5] = [
    "MPI_COMPARISON_ERROR",
    "MPI_IDENT",
    "MPI_CONGRUENT",
    "MPI_SIMILAR",
    "MPI_UNEQUAL",
];

const COMBINERS: [&str; 19] = [
    "MPI_COMBINER_ERROR",
    "MPI_COMBINER_NAMED",
    "MPI_COMBINER_DUP",
    "MPI_COMBINER_CONTIGUOUS",
    "MPI_COMBINER_VECTOR",
    "MPI_COMBINER_HVECTOR_INTEGER",
    "MPI_COMBINER_HVECTOR",
    "MPI_COMBINER_INDEXED",
    "MPI_COMBINER_HINDEXED_INTEGER",
    "MPI_COMBINER_HINDEXED",
    "MPI_COMBINER_INDEXED_BLOCK",
    "MPI_COMBINER_STRUCT_INTEGER",
    "MPI_COMBINER_STRUCT",
    "MPI_COMBINER_SUBARRAY",
    "MPI_COMBINER_DARRAY",
    "MPI_COMBINER_F90_REAL",
    "MPI_COMBINER_F90_COMPLEX",
    "MPI_COMBINER_F90_INTEGER",
    "MPI_COMBINER_RESIZED",
];

const FILEMODES: [&str; 10] = [
    "DUMPI_FILEMODE_ERROR",
    "MPI_MODE_RDONLY",
    "MPI_MODE_RDWR",
    "MPI_MODE_WRONLY",
    "MPI_MODE_CREATE",
    "MPI_MODE_EXCL",
    "MPI_MODE_DELETE_ON_CLOSE",
    "MPI_MODE_UNIQUE_OPEN",
    "MPI_MODE_SEQUENTIAL",
    "MPI_MODE_APPEND",
];

const ASSERTIONS: [&str; 5] = [
    "MPI_MODE_NOCHECK",
    "MPI_MODE_NOSTORE",
    "MPI_MODE_NOPUT",
    "MPI_MODE_NOPRECEDE",
    "MPI_MODE_NOSUCCEED",
];

fn of(names: &[&'static str], number: usize, other: &'static str) -> &'static str {
    names.get(number).copied().unwrap_or(other)
}

/// Name of a datatype; those that the application made share one.
pub fn datatype_name(handle: u16) -> &'static str {
    of(&DATATYPES, usize::from(handle), "user-defined-datatype")
}

pub(super) fn comm(handle: u16) -> &'static str {
    of(&COMMS, usize::from(handle), "user-defined-comm")
}

pub(super) fn group(handle: u16) -> &'static str {
    of(&GROUPS, usize::from(handle), "user-defined-group")
}

pub(super) fn keyval(handle: u16) -> &'static str {
    of(&KEYVALS, usize::from(handle), "user-defined-keyval")
}

pub(super) fn errhandler(handle: u16) -> &'static str {
    const NAMES: [&str; 2] = ["DUMPI_ERRHANDLER_ERROR", "MPI_ERRHANDLER_NULL"];
    of(&NAMES, usize::from(handle), "user-defined-errhandler")
}

pub(super) fn file(handle: u16) -> &'static str {
    of(&["DUMPI_FILE_NULL"], usize::from(handle), "user-file")
}

pub(super) fn info(handle: u16) -> &'static str {
    of(&["MPI_INFO_NULL"], usize::from(handle), "user-info")
}

pub(super) fn window(handle: u16) -> &'static str {
    of(&["DUMPI_WIN_NULL"], usize::from(handle), "user-defined-win")
}

pub(super) fn op(code: u8) -> &'static str {
    of(&OPS, usize::from(code), "user-defined-op")
}

pub(super) fn comparison(code: u8) -> &'static str {
    of(&COMPARISONS, usize::from(code), "undefined-comparison")
}

pub(super) fn combiner(code: u8) -> &'static str {
    of(&COMBINERS, usize::from(code), "DUMPI_COMBINER_ERROR")
}

pub(super) fn filemode(code: u8) -> &'static str {
    of(&FILEMODES, usize::from(code), "DUMPI_FILEMODE_ERROR")
}

/// Names of a set of numbers from 1 on; all others have the name `other`.
fn from_one(names: &[&'static str], code: u8, other: &'static str) -> &'static str {
    match code {
        0 => other,
        _ => of(names, usize::from(code) - 1, other),
    }
}

pub(super) fn locktype(code: u8) -> &'static str {
    let names = ["MPI_LOCK_SHARED", "MPI_LOCK_EXCLUSIVE"];
    from_one(&names, code, "DUMPI_LOCKTYPE_ERROR")
}

pub(super) fn ordering(code: u8) -> &'static str {
    let names = ["MPI_ORDER_C", "MPI_ORDER_FORTRAN"];
    from_one(&names, code, "DUMPI_ORDERING_ERROR")
}

pub(super) fn threadlevel(code: u8) -> &'static str {
    let names = [
        "MPI_THREAD_SINGLE",
        "MPI_THREAD_FUNNELED",
        "MPI_THREAD_SERIALIZED",
        "MPI_THREAD_MULTIPLE",
    ];
    from_one(&names, code, "DUMPI_THREADLEVEL_ERROR")
}

pub(super) fn topology(code: u8) -> &'static str {
    let names = ["MPI_GRAPH", "MPI_CART", "MPI_UNDEFINED"];
    from_one(&names, code, "DUMPI_TOPOLOGY_ERROR")
}

pub(super) fn typeclass(code: u8) -> &'static str {
    let names = [
        "MPI_TYPECLASS_REAL",
        "MPI_TYPECLASS_INTEGER",
        "MPI_TYPECLASS_COMPLEX",
    ];
    from_one(&names, code, "DUMPI_TYPECLASS_ERROR")
}

pub(super) fn whence(code: u8) -> &'static str {
    let names = ["MPI_SEEK_SET", "MPI_SEEK_CUR", "MPI_SEEK_END"];
    from_one(&names, code, "DUMPI_WHENCE_ERROR")
}

/// Window assertions are a set of bits.
pub(super) fn assertion(code: u8) -> String {
    match code {
        0 => "DUMPI_MODE_NONE".to_owned(),
        32.. => "DUMPI_MODE_ERROR".to_owned(),
        _ => ASSERTIONS
            .iter()
            .enumerate()
            .filter(|(bit, _)| code & (1 << bit) != 0)
            .map(|(_, name)| *name)
            .collect::<Vec<_>>()
            .join("|"),
    }
}
