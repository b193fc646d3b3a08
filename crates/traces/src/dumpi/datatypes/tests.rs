use super::*;

#[test]
fn sizes_follow_from_the_calls_that_made_the_types() {
    let mut types = Datatypes::new(&[0, 0, 1, 1, 1, 1, 4, 2, 2, 4, 4, 8]);
    let int = 9;
    assert_eq!(types.size(int), Some(4));
    // Beyond the list: MPI_DOUBLE as usual.
    assert_eq!(types.size(14), Some(8));
    assert_eq!(types.size(40), None);
    let handle = Value::Handle;
    // 3 blocks of 5 integers: 60 bytes, whatever the stride.
    types.note(&Call::with_values(
        Function::Type_vector,
        vec![
            Value::Int(3),
            Value::Int(5),
            Value::Int(100),
            handle(int),
            handle(30),
        ],
    ));
    assert_eq!(types.size(30), Some(60));
    // 2 of those and 7 characters: 127 bytes.
    types.note(&Call::with_values(
        Function::Type_struct,
        vec![
            Value::Int(2),
            Value::Ints(vec![2, 7]),
            Value::Ints(vec![0, 200]),
            Value::Handles(vec![30, 2]),
            handle(31),
        ],
    ));
    assert_eq!(types.size(31), Some(127));
    // Of a type that nobody knows: not known.
    types.note(&Call::with_values(
        Function::Type_contiguous,
        vec![Value::Int(2), handle(99), handle(32)],
    ));
    assert_eq!(types.size(32), None);
}
#[test]
fn persistent_sends_count_when_they_start() {
    let mut sent = SentBytes::new(&[]);
    let int = Value::Handle(9);
    let world = Value::Handle(2);
    let prepare = |function, count, request| {
        let values = vec![
            Value::Int(count),
            int.clone(),
            Value::Int(1),
            Value::Int(0),
            world.clone(),
            Value::Int(request),
        ];
        Call::with_values(function, values)
    };
    assert_eq!(sent.of(&prepare(Function::Send_init, 10, 5)), Some(0));
    assert_eq!(sent.of(&prepare(Function::Recv_init, 99, 6)), Some(0));
    let start = Call::with_values(
        Function::Startall,
        vec![Value::Int(2), Value::Ints(vec![5, 6])],
    );
    assert_eq!(sent.of(&start), Some(40));
    assert_eq!(sent.of(&start), Some(40));
    // To nobody, and of a type that nobody knows.
    let send = |datatype, to| {
        let values = vec![
            Value::Int(3),
            Value::Handle(datatype),
            Value::Int(to),
            Value::Int(0),
            world.clone(),
        ];
        Call::with_values(Function::Send, values)
    };
    assert_eq!(sent.of(&send(9, -1)), Some(0));
    assert_eq!(sent.of(&send(9, 1)), Some(12));
    assert_eq!(sent.of(&send(77, 1)), None);
}
