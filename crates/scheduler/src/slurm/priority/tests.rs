use super::*;

fn account(name: &str, parent: &str, shares: f64) -> Association {
    Association {
        account: name.to_owned(),
        user: None,
        parent: Some(parent.to_owned()),
        shares,
    }
}

fn user(name: &str, account: &str, shares: f64) -> Association {
    Association {
        account: account.to_owned(),
        user: Some(name.to_owned()),
        parent: None,
        shares,
    }
}

fn used(tree: &mut Shares, account: &str, user: &str, usage: f64) {
    let leaf = tree.leaf(account, user).unwrap();
    tree.change(leaf, usage);
    tree.advance(1.0, 0.0);
    tree.change(leaf, -usage);
}

/// Accounts that are better off come first with all of their users, whatever those
/// have used: what Fair Tree was made for.
#[test]
fn an_account_goes_before_its_siblings_with_all_its_users() {
    let tree = [
        account("physics", "root", 40.0),
        account("biology", "root", 60.0),
        user("ann", "physics", 1.0),
        user("bob", "physics", 1.0),
        user("eve", "biology", 1.0),
        user("dan", "biology", 3.0),
    ];
    let mut tree = Shares::new(&tree, std::iter::empty()).unwrap();
    // Physics has used 50 of 100 with a share of 40 %, biology 50 with 60 %.
    used(&mut tree, "physics", "ann", 10.0);
    used(&mut tree, "physics", "bob", 40.0);
    used(&mut tree, "biology", "eve", 10.0);
    used(&mut tree, "biology", "dan", 40.0);
    tree.rank(&Weights::default());
    let of = |account: &str, user: &str| tree.factor(tree.leaf(account, user));
    // Levels: biology 1.2, physics 0.8; eve (1/4)/(1/5) = 1.25, dan (3/4)/(4/5) < 1;
    // ann (1/2)/(1/5) = 2.5, bob (1/2)/(4/5) < 1.
    assert_eq!(of("biology", "eve"), 1.0);
    assert_eq!(of("biology", "dan"), 0.75);
    assert_eq!(of("physics", "ann"), 0.5);
    assert_eq!(of("physics", "bob"), 0.25);
}

#[test]
fn ties_share_a_rank_and_tied_accounts_are_walked_together() {
    let tree = [
        account("a", "root", 1.0),
        account("b", "root", 1.0),
        user("u1", "a", 1.0),
        user("u2", "a", 1.0),
        user("v1", "b", 1.0),
        user("v2", "b", 1.0),
    ];
    let mut tree = Shares::new(&tree, std::iter::empty()).unwrap();
    tree.rank(&Weights::default());
    let of = |tree: &Shares, account: &str, user: &str| tree.factor(tree.leaf(account, user));
    // Nobody has used anything: all are first.
    for (account, user) in [("a", "u1"), ("a", "u2"), ("b", "v1"), ("b", "v2")] {
        assert_eq!(of(&tree, account, user), 1.0);
    }
    used(&mut tree, "a", "u1", 30.0);
    used(&mut tree, "a", "u2", 10.0);
    used(&mut tree, "b", "v1", 10.0);
    used(&mut tree, "b", "v2", 30.0);
    tree.rank(&Weights::default());
    // The accounts tie, so their users are ranked among each other.
    assert_eq!(of(&tree, "a", "u2"), 1.0);
    assert_eq!(of(&tree, "b", "v1"), 1.0);
    assert_eq!(of(&tree, "a", "u1"), 0.5);
    assert_eq!(of(&tree, "b", "v2"), 0.5);
}

#[test]
fn usage_halves_and_the_classic_factor_is_its_definition() {
    let mut tree = Shares::new(&[], [("a", "u"), ("b", "v")].into_iter()).unwrap();
    used(&mut tree, "a", "u", 300.0);
    used(&mut tree, "b", "v", 100.0);
    let leaf = tree.leaf("a", "u").unwrap();
    let before = tree.entries[leaf].usage;
    tree.advance(50.0, 50.0);
    assert!((tree.entries[leaf].usage - before / 2.0).abs() < 1e-9);
    let weights = Weights {
        fair_tree: false,
        ..Weights::default()
    };
    tree.rank(&weights);
    // Three quarters of the usage at half of the shares.
    assert!((tree.factor(Some(leaf)) - (-1.5f64).exp2()).abs() < 1e-12);
}

#[test]
fn damaged_trees_are_refused() {
    let below = [account("a", "b", 1.0), account("b", "a", 1.0)];
    assert!(Shares::new(&below, std::iter::empty()).is_err());
    assert!(Shares::new(&[account("a", "x", 1.0)], std::iter::empty()).is_err());
}

#[test]
fn the_priority_is_the_weighted_sum() {
    let weights = Weights {
        age: 1000.0,
        fair_share: 2000.0,
        job_size: 400.0,
        partition: 100.0,
        qos: 10.0,
        max_age_s: 1000,
        ..Weights::default()
    };
    let job = Factors {
        wait: 250,
        nodes: 0.5,
        cpus: 0.25,
        fair_share: 0.5,
        partition: 1.0,
        qos: 0.5,
        tres: 3.0,
        nice: 8,
    };
    assert_eq!(
        multifactor(&weights, &job),
        250 + 1000 + 150 + 100 + 5 + 3 - 8
    );
}
