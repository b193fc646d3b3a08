//! Every function that a DUMPI trace can hold, with the arguments that are
//! stored of it and their order.
//!
//! The numbering is the order of this list. Facts: sst-dumpi,
//! `dumpi/common/funclabels.h` (numbers) and `dumpi/common/dumpiio.c` (layout of
//! each record).

/// How an argument is stored, and what it means.
///
/// Integers are big-endian. Handles (communicators, datatypes, groups, …) are
/// numbers that DUMPI gave to MPI's opaque objects, per rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// 32-bit integer.
    Int,
    /// 64-bit integer (file offsets and sizes).
    Long,
    /// 32-bit rank that is sent to.
    Destination,
    /// 32-bit rank that is received from; −1 is `MPI_ANY_SOURCE`.
    Source,
    /// 32-bit tag; −1 is `MPI_ANY_TAG`.
    Tag,
    /// 16-bit communicator; 2 is `MPI_COMM_WORLD`.
    Comm,
    /// 16-bit datatype.
    Datatype,
    /// 16-bit error handler.
    Errhandler,
    /// 16-bit file.
    File,
    /// 16-bit group.
    Group,
    /// 16-bit info object.
    Info,
    /// 16-bit attribute key.
    Keyval,
    /// 16-bit one-sided window.
    Win,
    /// 8-bit result of a comparison.
    Comparison,
    /// 8-bit datatype constructor.
    Combiner,
    /// 8-bit file access mode.
    Filemode,
    /// 8-bit lock type.
    Locktype,
    /// 8-bit reduction operation.
    Op,
    /// 8-bit array order.
    Ordering,
    /// 8-bit thread support.
    Threadlevel,
    /// 8-bit topology.
    Topology,
    /// 8-bit type class.
    Typeclass,
    /// 8-bit seek origin.
    Whence,
    /// 8-bit window assertion.
    WinAssert,
    /// 32-bit request.
    Request,
    /// 32-bit request of MPI-IO.
    IoRequest,
    /// One status, or none where the caller ignored it or the capture left it out.
    Status,
    /// Statuses, or none for the same reasons.
    Statuses,
    /// 32-bit integers.
    Ints,
    /// Rows of 32-bit integers.
    IntRows,
    /// 32-bit requests.
    Requests,
    /// 32-bit requests of MPI-IO.
    IoRequests,
    /// 16-bit datatypes.
    Datatypes,
    /// 16-bit info objects.
    Infos,
    /// 8-bit distributions.
    Distributions,
    /// Bytes of a string.
    Text,
    /// Strings, preceded by their number.
    Texts,
    /// Lists of strings.
    TextRows,
    /// `argv`: as many strings as the field before it says, with no number of
    /// their own.
    Argv,
}

/// One stored argument of a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field {
    /// Name of the argument, as sst-dumpi calls it.
    pub name: &'static str,
    /// How it is stored.
    pub kind: Kind,
    /// For a list: the field before it that holds the number of elements.
    pub length: Option<&'static str>,
    /// Stored only where the calling rank is the root of the call.
    pub root_only: bool,
}

struct Signature {
    name: &'static str,
    fields: &'static [Field],
}

macro_rules! name {
    ($variant:ident) => {
        concat!("MPI_", stringify!($variant))
    };
    ($variant:ident $name:literal) => {
        $name
    };
}

macro_rules! length {
    () => {
        None
    };
    ($length:ident) => {
        Some(stringify!($length))
    };
}

macro_rules! root_only {
    () => {
        false
    };
    (at_root) => {
        true
    };
}

macro_rules! functions {
    ($($variant:ident $(= $name:literal)? [
        $($(@$root:ident)? $field:ident $kind:ident $(($length:ident))?),*
    ];)*) => {
        /// A function of MPI, or the entry into or exit from a function that was
        /// traced by address. Variants are named as in the MPI standard, without
        /// `MPI_`; those of the old MPI-IO requests start with `Io_`.
        #[allow(missing_docs, non_camel_case_types)]
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u16)]
        pub enum Function { $($variant),* }

        impl Function {
            /// Every function, in the order of the numbers that traces hold.
            pub const ALL: &'static [Function] = &[$(Function::$variant),*];
        }

        static SIGNATURES: &[Signature] = &[$(Signature {
            name: name!($variant $($name)?),
            fields: &[$(Field {
                name: stringify!($field),
                kind: Kind::$kind,
                length: length!($($length)?),
                root_only: root_only!($($root)?),
            }),*],
        }),*];
    };
}

impl Function {
    /// The function that a trace calls `number`; `None` if there is none.
    pub fn from_number(number: u16) -> Option<Self> {
        Self::ALL.get(usize::from(number)).copied()
    }

    /// The number that stands for the function in a trace.
    pub fn number(self) -> u16 {
        self as u16
    }

    /// Name as in the MPI standard.
    pub fn name(self) -> &'static str {
        SIGNATURES[self as usize].name
    }

    /// Stored arguments, in the order in which they lie in the file.
    pub fn fields(self) -> &'static [Field] {
        SIGNATURES[self as usize].fields
    }

    /// Functions that a footer counts: all but the two that mark functions
    /// traced by address.
    pub fn counted() -> &'static [Function] {
        &Self::ALL[..ALL_FUNCTIONS as usize]
    }
}

/// Number that stands for "all functions" in a footer; no record has it.
pub(super) const ALL_FUNCTIONS: u16 = Function::ALL_FUNCTIONS as u16;

/// Number that ends the stream of records.
pub(super) const END_OF_STREAM: u16 = Function::Function_exit as u16 + 1;

functions! {
    Send [count Int, datatype Datatype, dest Destination, tag Tag, comm Comm];
    Recv [count Int, datatype Datatype, source Source, tag Tag, comm Comm, status Status];
    Get_count [status Status, datatype Datatype, count Int];
    Bsend [count Int, datatype Datatype, dest Destination, tag Tag, comm Comm];
    Ssend [count Int, datatype Datatype, dest Destination, tag Tag, comm Comm];
    Rsend [count Int, datatype Datatype, dest Destination, tag Tag, comm Comm];
    Buffer_attach [size Int];
    Buffer_detach [size Int];
    Isend [count Int, datatype Datatype, dest Destination, tag Int, comm Comm, request Request];
    Ibsend [count Int, datatype Datatype, dest Destination, tag Tag, comm Comm, request Request];
    Issend [count Int, datatype Datatype, dest Destination, tag Tag, comm Comm, request Request];
    Irsend [count Int, datatype Datatype, dest Destination, tag Tag, comm Comm, request Request];
    Irecv [count Int, datatype Datatype, source Source, tag Tag, comm Comm, request Request];
    Wait [request Request, status Status];
    Test [request Request, flag Int, status Status];
    Request_free [request Request];
    Waitany [count Int, requests Requests(count), index Int, status Status];
    Testany [count Int, requests Requests(count), index Int, flag Int, status Status];
    Waitall [count Int, requests Requests(count), statuses Statuses(count)];
    Testall [count Int, requests Requests(count), flag Int, statuses Statuses(count)];
    Waitsome [count Int, requests Requests(count), outcount Int, indices Ints(outcount), statuses Statuses(outcount)];
    Testsome [count Int, requests Requests(count), outcount Int, indices Ints(outcount), statuses Statuses(outcount)];
    Iprobe [source Source, tag Tag, comm Comm, flag Int, status Status];
    Probe [source Source, tag Tag, comm Comm, status Status];
    Cancel [request Request];
    Test_cancelled [status Status, cancelled Int];
    Send_init [count Int, datatype Datatype, dest Destination, tag Tag, comm Comm, request Request];
    Bsend_init [count Int, datatype Datatype, dest Destination, tag Tag, comm Comm, request Request];
    Ssend_init [count Int, datatype Datatype, dest Destination, tag Tag, comm Comm, request Request];
    Rsend_init [count Int, datatype Datatype, dest Destination, tag Tag, comm Comm, request Request];
    Recv_init [count Int, datatype Datatype, source Source, tag Tag, comm Comm, request Request];
    Start [request Request];
    Startall [count Int, requests Requests(count)];
    Sendrecv [
        sendcount Int, sendtype Datatype, dest Destination, sendtag Tag,
        recvcount Int, recvtype Datatype, source Source, recvtag Tag, comm Comm, status Status
    ];
    Sendrecv_replace [
        count Int, datatype Datatype, dest Destination, sendtag Tag, source Source, recvtag Tag,
        comm Comm, status Status
    ];
    Type_contiguous [count Int, oldtype Datatype, newtype Datatype];
    Type_vector [count Int, blocklength Int, stride Int, oldtype Datatype, newtype Datatype];
    Type_hvector [count Int, blocklength Int, stride Int, oldtype Datatype, newtype Datatype];
    Type_indexed [count Int, lengths Ints(count), indices Ints(count), oldtype Datatype, newtype Datatype];
    Type_hindexed [count Int, lengths Ints(count), indices Ints(count), oldtype Datatype, newtype Datatype];
    Type_struct [count Int, lengths Ints(count), indices Ints(count), oldtypes Datatypes(count), newtype Datatype];
    Address [address Int];
    Type_extent [datatype Datatype, extent Int];
    Type_size [datatype Datatype, size Int];
    Type_lb [datatype Datatype, lb Int];
    Type_ub [datatype Datatype, ub Int];
    Type_commit [datatype Datatype];
    Type_free [datatype Datatype];
    Get_elements [status Status, datatype Datatype, elements Int];
    Pack [incount Int, datatype Datatype, outcount Int, position_in Int, position_out Int, comm Comm];
    Unpack [incount Int, position_in Int, position_out Int, outcount Int, datatype Datatype, comm Comm];
    Pack_size [incount Int, datatype Datatype, comm Comm, size Int];
    Barrier [comm Comm];
    Bcast [count Int, datatype Datatype, root Int, comm Comm];
    Gather [
        commrank Int, sendcount Int, sendtype Datatype, root Int, comm Comm,
        @at_root recvcount Int, @at_root recvtype Datatype
    ];
    Gatherv [
        commrank Int, commsize Int, sendcount Int, sendtype Datatype, root Int, comm Comm,
        @at_root recvcounts Ints(commsize), @at_root displs Ints(commsize), recvtype Datatype
    ];
    Scatter [
        commrank Int, recvcount Int, recvtype Datatype, root Int, comm Comm,
        @at_root sendcount Int, @at_root sendtype Datatype
    ];
    Scatterv [
        commrank Int, commsize Int, sendtype Datatype, recvcount Int, recvtype Datatype, root Int,
        comm Comm, @at_root sendcounts Ints(commsize), @at_root displs Ints(commsize)
    ];
    Allgather [sendcount Int, sendtype Datatype, recvcount Int, recvtype Datatype, comm Comm];
    Allgatherv [
        commsize Int, sendcount Int, sendtype Datatype, recvcounts Ints(commsize),
        displs Ints(commsize), recvtype Datatype, comm Comm
    ];
    Alltoall [sendcount Int, sendtype Datatype, recvcount Int, recvtype Datatype, comm Comm];
    Alltoallv [
        commsize Int, sendcounts Ints(commsize), senddispls Ints(commsize), sendtype Datatype,
        recvcounts Ints(commsize), recvdispls Ints(commsize), recvtype Datatype, comm Comm
    ];
    Reduce [count Int, datatype Datatype, op Op, root Int, comm Comm];
    Op_create [commute Int, op Op];
    Op_free [op Op];
    Allreduce [count Int, datatype Datatype, op Op, comm Comm];
    Reduce_scatter [commsize Int, recvcounts Ints(commsize), datatype Datatype, op Op, comm Comm];
    Scan [count Int, datatype Datatype, op Op, comm Comm];
    Group_size [group Group, size Int];
    Group_rank [group Group, rank Int];
    Group_translate_ranks [group1 Group, count Int, ranks1 Ints(count), group2 Group, ranks2 Ints(count)];
    Group_compare [group1 Group, group2 Group, result Comparison];
    Comm_group [comm Comm, group Group];
    Group_union [group1 Group, group2 Group, newgroup Group];
    Group_intersection [group1 Group, group2 Group, newgroup Group];
    Group_difference [group1 Group, group2 Group, newgroup Group];
    Group_incl [group Group, count Int, ranks Ints(count), newgroup Group];
    Group_excl [group Group, count Int, ranks Ints(count), newgroup Group];
    Group_range_incl [group Group, count Int, ranges IntRows(count), newgroup Group];
    Group_range_excl [group Group, count Int, ranges IntRows(count), newgroup Group];
    Group_free [group Group];
    Comm_size [comm Comm, size Int];
    Comm_rank [comm Comm, rank Int];
    Comm_compare [comm1 Comm, comm2 Comm, result Comparison];
    Comm_dup [oldcomm Comm, newcomm Comm];
    Comm_create [oldcomm Comm, group Group, newcomm Comm];
    Comm_split [oldcomm Comm, color Int, key Int, newcomm Comm];
    Comm_free [comm Comm];
    Comm_test_inter [comm Comm, inter Int];
    Comm_remote_size [comm Comm, size Int];
    Comm_remote_group [comm Comm, group Group];
    Intercomm_create [
        localcomm Comm, localleader Int, remotecomm Comm, remoteleader Int, tag Tag, newcomm Comm
    ];
    Intercomm_merge [comm Comm, high Int, newcomm Comm];
    Keyval_create [key Keyval];
    Keyval_free [key Keyval];
    Attr_put [comm Comm, key Int];
    Attr_get [comm Comm, key Int, flag Int];
    Attr_delete [comm Comm, key Int];
    Topo_test [comm Comm, topo Topology];
    Cart_create [oldcomm Comm, ndim Int, dims Ints(ndim), periods Ints(ndim), reorder Int, newcomm Comm];
    Dims_create [nodes Int, ndim Int, dims_in Ints(ndim), dims_out Ints(ndim)];
    Graph_create [
        numedges Int, oldcomm Comm, nodes Int, index Ints(nodes), edges Ints(numedges), reorder Int,
        newcomm Comm
    ];
    Graphdims_get [comm Comm, nodes Int, edges Int];
    Graph_get [
        totedges Int, totnodes Int, comm Comm, maxindex Int, maxedges Int, index Ints(totnodes),
        edges Ints(totedges)
    ];
    Cartdim_get [comm Comm, ndim Int];
    Cart_get [ndim Int, comm Comm, maxdims Int, dims Ints(ndim), periods Ints(ndim), coords Ints(ndim)];
    Cart_rank [ndim Int, comm Comm, coords Ints(ndim), rank Int];
    Cart_coords [ndim Int, comm Comm, rank Int, maxdims Int, coords Ints(ndim)];
    Graph_neighbors_count [comm Comm, rank Int, nneigh Int];
    Graph_neighbors [nneigh Int, comm Comm, rank Int, maxneighbors Int, neighbors Ints(nneigh)];
    Cart_shift [comm Comm, direction Int, displ Int, source Source, dest Destination];
    Cart_sub [ndim Int, oldcomm Comm, remain_dims Ints(ndim), newcomm Comm];
    Cart_map [comm Comm, ndim Int, dims Ints(ndim), period Ints(ndim), newrank Int];
    Graph_map [numedges Int, comm Comm, nodes Int, index Ints(nodes), edges Ints(numedges), newrank Int];
    Get_processor_name [name Text, resultlen Int];
    Get_version [version Int, subversion Int];
    Errhandler_create [errhandler Errhandler];
    Errhandler_set [comm Comm, errhandler Errhandler];
    Errhandler_get [comm Comm, errhandler Errhandler];
    Errhandler_free [errhandler Errhandler];
    Error_string [errorcode Int, errorstring Text, resultlen Int];
    Error_class [errorcode Int, errorclass Int];
    Wtime [];
    Wtick [];
    Init [argc Int, argv Argv(argc)];
    Finalize [];
    Initialized [result Int];
    Abort [comm Comm, errorcode Int];
    Pcontrol [];
    Close_port [portname Text];
    Comm_accept [portname Text, info Info, root Int, oldcomm Comm, newcomm Comm];
    Comm_connect [portname Text, info Info, root Int, oldcomm Comm, newcomm Comm];
    Comm_disconnect [comm Comm];
    Comm_get_parent [parent Comm];
    Comm_join [fd Int, comm Comm];
    Comm_spawn [
        oldcommrank Int, root Int, oldcomm Comm, newcomm Comm, @at_root command Text,
        @at_root argv Texts, @at_root maxprocs Int, @at_root info Info,
        @at_root errcodes Ints(maxprocs)
    ];
    Comm_spawn_multiple [
        totprocs Int, oldcommrank Int, root Int, oldcomm Comm, newcomm Comm, @at_root count Int,
        @at_root commands Texts(count), @at_root argvs TextRows(count),
        @at_root maxprocs Ints(count), @at_root info Infos(count), @at_root errcodes Ints(totprocs)
    ];
    Lookup_name [servicename Text, info Info, portname Text];
    Open_port [info Info, portname Text];
    Publish_name [servicename Text, info Info, portname Text];
    Unpublish_name [servicename Text, info Info, portname Text];
    Accumulate [
        origincount Int, origintype Datatype, targetrank Int, targetdisp Int, targetcount Int,
        targettype Datatype, op Op, win Win
    ];
    Get [
        origincount Int, origintype Datatype, targetrank Int, targetdisp Int, targetcount Int,
        targettype Datatype, win Win
    ];
    Put [
        origincount Int, origintype Datatype, targetrank Int, targetdisp Int, targetcount Int,
        targettype Datatype, win Win
    ];
    Win_complete [win Win];
    Win_create [size Int, dispunit Int, info Info, comm Comm, win Win];
    Win_fence [assertion WinAssert, win Win];
    Win_free [win Win];
    Win_get_group [win Win, group Group];
    Win_lock [locktype Locktype, winrank Int, assertion WinAssert, win Win];
    Win_post [group Group, assertion WinAssert, win Win];
    Win_start [group Group, assertion WinAssert, win Win];
    Win_test [win Win, flag Int];
    Win_unlock [winrank Int, win Win];
    Win_wait [win Win];
    Alltoallw [
        commsize Int, sendcounts Ints(commsize), senddispls Ints(commsize),
        sendtypes Datatypes(commsize), recvcounts Ints(commsize), recvdispls Ints(commsize),
        recvtypes Datatypes(commsize), comm Comm
    ];
    Exscan [count Int, datatype Datatype, op Op, comm Comm];
    Add_error_class [errorclass Int];
    Add_error_code [errorclass Int, errorcode Int];
    Add_error_string [errorcode Int, errorstring Text];
    Comm_call_errhandler [comm Comm, errorcode Int];
    Comm_create_keyval [keyval Keyval];
    Comm_delete_attr [comm Comm, keyval Keyval];
    Comm_free_keyval [keyval Keyval];
    Comm_get_attr [comm Comm, keyval Keyval, flag Int];
    Comm_get_name [comm Comm, name Text, resultlen Int];
    Comm_set_attr [comm Comm, keyval Keyval];
    Comm_set_name [comm Comm, name Text];
    File_call_errhandler [file File, errorcode Int];
    Grequest_complete [request Request];
    Grequest_start [request Request];
    Init_thread [argc Int, argv Argv(argc), required Threadlevel, provided Threadlevel];
    Is_thread_main [flag Int];
    Query_thread [supported Threadlevel];
    Status_set_cancelled [status Status, flag Int];
    Status_set_elements [status Status, datatype Datatype, count Int];
    Type_create_keyval [keyval Keyval];
    Type_delete_attr [datatype Datatype, keyval Keyval];
    Type_dup [oldtype Datatype, newtype Datatype];
    Type_free_keyval [keyval Keyval];
    Type_get_attr [datatype Datatype, keyval Keyval, flag Int];
    Type_get_contents [
        numdatatypes Int, numaddresses Int, numintegers Int, datatype Datatype, maxintegers Int,
        maxaddresses Int, maxdatatypes Int, arrintegers Ints(numintegers),
        arraddresses Ints(numaddresses), arrdatatypes Datatypes(numdatatypes)
    ];
    Type_get_envelope [
        datatype Datatype, numintegers Int, numaddresses Int, numdatatypes Int, combiner Combiner
    ];
    Type_get_name [datatype Datatype, name Text, resultlen Int];
    Type_set_attr [datatype Datatype, keyval Keyval];
    Type_set_name [datatype Datatype, name Text];
    Type_match_size [typeclass Typeclass, size Int, datatype Datatype];
    Win_call_errhandler [win Win, errorcode Int];
    Win_create_keyval [keyval Keyval];
    Win_delete_attr [win Win, keyval Keyval];
    Win_free_keyval [keyval Keyval];
    Win_get_attr [win Win, keyval Keyval, flag Int];
    Win_get_name [win Win, name Text, resultlen Int];
    Win_set_attr [win Win, keyval Keyval];
    Win_set_name [win Win, name Text];
    Alloc_mem [size Int, info Info];
    Comm_create_errhandler [errhandler Errhandler];
    Comm_get_errhandler [comm Comm, errhandler Errhandler];
    Comm_set_errhandler [comm Comm, errhandler Errhandler];
    File_create_errhandler [errhandler Errhandler];
    File_get_errhandler [file File, errhandler Errhandler];
    File_set_errhandler [file File, errhandler Errhandler];
    Finalized [flag Int];
    Free_mem [];
    Get_address [address Int];
    Info_create [info Info];
    Info_delete [info Info, key Text];
    Info_dup [oldinfo Info, newinfo Info];
    Info_free [info Info];
    Info_get [info Info, key Text, valuelength Int, value Text, flag Int];
    Info_get_nkeys [info Info, nkeys Int];
    Info_get_nthkey [info Info, n Int, key Text];
    Info_get_valuelen [info Info, key Text, valuelen Int, flag Int];
    Info_set [info Info, key Text, value Text];
    Pack_external [datarep Text, incount Int, intype Datatype, outcount Int, position_in Int, position_out Int];
    Pack_external_size [datarep Text, incount Int, datatype Datatype, size Int];
    Request_get_status [request Request, flag Int, status Status];
    Type_create_darray [
        size Int, rank Int, ndims Int, gsizes Ints(ndims), distribs Distributions(ndims),
        dargs Ints(ndims), psizes Ints(ndims), order Ordering, oldtype Datatype, newtype Datatype
    ];
    Type_create_hindexed [
        count Int, blocklengths Ints(count), displacements Ints(count), oldtype Datatype,
        newtype Datatype
    ];
    Type_create_hvector [count Int, blocklength Int, stride Int, oldtype Datatype, newtype Datatype];
    Type_create_indexed_block [
        count Int, blocklength Int, displacments Ints(count), oldtype Datatype, newtype Datatype
    ];
    Type_create_resized [oldtype Datatype, lb Int, extent Int, newtype Datatype];
    Type_create_struct [
        count Int, blocklengths Ints(count), displacements Ints(count), oldtypes Datatypes(count),
        newtype Datatype
    ];
    Type_create_subarray [
        ndims Int, sizes Ints(ndims), subsizes Ints(ndims), starts Ints(ndims), order Ordering,
        oldtype Datatype, newtype Datatype
    ];
    Type_get_extent [datatype Datatype, lb Int, extent Int];
    Type_get_true_extent [datatype Datatype, lb Int, extent Int];
    Unpack_external [datarep Text, insize Int, position_in Int, position_out Int, outcount Int, datatype Datatype];
    Win_create_errhandler [errhandler Errhandler];
    Win_get_errhandler [win Win, errhandler Errhandler];
    Win_set_errhandler [win Win, errhandler Errhandler];
    File_open [comm Comm, filename Text, amode Filemode, info Info, file File];
    File_close [file File];
    File_delete [filename Text, info Info];
    File_set_size [file File, size Long];
    File_preallocate [file File, size Long];
    File_get_size [file File, size Long];
    File_get_group [file File, group Group];
    File_get_amode [file File, amode Filemode];
    File_set_info [file File, info Info];
    File_get_info [file File, info Info];
    File_set_view [file File, offset Long, hosttype Datatype, filetype Datatype, datarep Text, info Info];
    File_get_view [file File, offset Long, hosttype Datatype, filetype Datatype, datarep Text];
    File_read_at [file File, offset Long, count Int, datatype Datatype, status Status];
    File_read_at_all [file File, offset Long, count Int, datatype Datatype, status Status];
    File_write_at [file File, offset Long, count Int, datatype Datatype, status Status];
    File_write_at_all [file File, offset Long, count Int, datatype Datatype, status Status];
    File_iread_at [file File, offset Long, count Int, datatype Datatype, request IoRequest];
    File_iwrite_at [file File, offset Long, count Int, datatype Datatype, request IoRequest];
    File_read [file File, count Int, datatype Datatype, status Status];
    File_read_all [file File, count Int, datatype Datatype, status Status];
    File_write [file File, count Int, datatype Datatype, status Status];
    File_write_all [file File, count Int, datatype Datatype, status Status];
    File_iread [file File, count Int, datatype Datatype, request IoRequest];
    File_iwrite [file File, count Int, datatype Datatype, request IoRequest];
    File_seek [file File, offset Long, whence Whence];
    File_get_position [file File, offset Long];
    File_get_byte_offset [file File, offset Long, bytes Long];
    File_read_shared [file File, count Int, datatype Datatype, status Status];
    File_write_shared [file File, count Int, datatype Datatype, status Status];
    File_iread_shared [file File, count Int, datatype Datatype, request IoRequest];
    File_iwrite_shared [file File, count Int, datatype Datatype, request IoRequest];
    File_read_ordered [file File, count Int, datatype Datatype, status Status];
    File_write_ordered [file File, count Int, datatype Datatype, status Status];
    File_seek_shared [file File, offset Long, whence Whence];
    File_get_position_shared [file File, offset Long];
    File_read_at_all_begin [file File, offset Long, count Int, datatype Datatype];
    File_read_at_all_end [file File, status Status];
    File_write_at_all_begin [file File, offset Long, count Int, datatype Datatype];
    File_write_at_all_end [file File, status Status];
    File_read_all_begin [file File, count Int, datatype Datatype];
    File_read_all_end [file File, status Status];
    File_write_all_begin [file File, count Int, datatype Datatype];
    File_write_all_end [file File, status Status];
    File_read_ordered_begin [file File, count Int, datatype Datatype];
    File_read_ordered_end [file File, status Status];
    File_write_ordered_begin [file File, count Int, datatype Datatype];
    File_write_ordered_end [file File, status Status];
    File_get_type_extent [file File, datatype Datatype, extent Int];
    Register_datarep [name Text];
    File_set_atomicity [file File, flag Int];
    File_get_atomicity [file File, flag Int];
    File_sync [file File];
    Io_Test = "MPIO_Test" [request IoRequest, flag Int, status Status];
    Io_Wait = "MPIO_Wait" [request IoRequest, status Status];
    Io_Testall = "MPIO_Testall" [count Int, requests IoRequests(count), flag Int, statuses Statuses(count)];
    Io_Waitall = "MPIO_Waitall" [count Int, requests IoRequests(count), statuses Statuses(count)];
    Io_Testany = "MPIO_Testany" [count Int, requests IoRequests(count), flag Int, index Int, statuses Statuses(count)];
    Io_Waitany = "MPIO_Waitany" [count Int, requests IoRequests(count), index Int, statuses Statuses(count)];
    Io_Waitsome = "MPIO_Waitsome" [
        count Int, requests IoRequests(count), outcount Int, indices Ints(outcount),
        statuses Statuses(outcount)
    ];
    Io_Testsome = "MPIO_Testsome" [
        count Int, requests IoRequests(count), outcount Int, indices Ints(outcount),
        statuses Statuses(outcount)
    ];
    ALL_FUNCTIONS = "MPI_ALL_FUNCTIONS" [];
    Function_enter = "Function_enter" [function Long];
    Function_exit = "Function_exit" [function Long];
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_those_of_sst_dumpi() {
        // Read off real traces: the end mark is 0x125, Init 0x7c, Finalize 0x7d.
        assert_eq!(END_OF_STREAM, 0x125);
        assert_eq!(Function::Init.number(), 0x7c);
        assert_eq!(Function::Finalize.number(), 0x7d);
        assert_eq!(ALL_FUNCTIONS, 290);
        assert_eq!(Function::from_number(0), Some(Function::Send));
        assert_eq!(Function::from_number(END_OF_STREAM), None);
        assert_eq!(Function::Io_Wait.name(), "MPIO_Wait");
        assert_eq!(Function::Comm_rank.name(), "MPI_Comm_rank");
    }

    #[test]
    fn every_length_is_an_integer_before_its_list() {
        for function in Function::ALL {
            let fields = function.fields();
            for (index, field) in fields.iter().enumerate() {
                let Some(length) = field.length else { continue };
                let of = fields[..index]
                    .iter()
                    .find(|earlier| earlier.name == length)
                    .unwrap_or_else(|| panic!("{}: {length}", function.name()));
                assert_eq!(of.kind, Kind::Int, "{}", function.name());
            }
        }
    }
}
