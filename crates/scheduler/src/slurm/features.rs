//! Features that a job asks for: `fat&(a|b)`, `[rack1|rack2]`.

use super::cluster::Node;
use super::nodes::NodeSet;

/// The sets of nodes that answer an expression. Several alternatives (`[a|b]`: all nodes
/// of the job alike) are sets of their own, to be tried in turn.
///
/// # Errors
/// What is wrong with the expression, or that it counts nodes (`a*2`), which is not
/// simulated.
pub(super) fn alternatives(expression: &str, nodes: &[Node]) -> Result<Vec<NodeSet>, String> {
    let mut reader = Reader {
        rest: expression.trim(),
        nodes,
    };
    let found = reader.sequence().map_err(|what| {
        format!("features \"{expression}\": {what}; allowed: names with &, |, ( ) and [a|b]")
    })?;
    if !reader.rest.is_empty() {
        return Err(format!(
            "features \"{expression}\": \"{}\" is left over",
            reader.rest
        ));
    }
    Ok(found)
}

struct Reader<'a> {
    rest: &'a str,
    nodes: &'a [Node],
}

impl Reader<'_> {
    /// Operands from left to right, as Slurm reads them.
    fn sequence(&mut self) -> Result<Vec<NodeSet>, String> {
        let mut left = self.operand()?;
        loop {
            let union = match self.rest.chars().next() {
                Some('&' | ',') => false,
                Some('|') => true,
                _ => return Ok(left),
            };
            self.rest = &self.rest[1..];
            let right = self.operand()?;
            left = if union && left.len() == 1 && right.len() == 1 {
                let mut set = left.remove(0);
                set.add(&right[0]);
                vec![set]
            } else if union {
                left.into_iter().chain(right).collect()
            } else {
                let both = |one: &NodeSet| {
                    let one = one.clone();
                    right.iter().map(move |other| {
                        let mut set = one.clone();
                        set.keep(other);
                        set
                    })
                };
                left.iter().flat_map(both).collect()
            };
            if left.len() > 64 {
                return Err("more than 64 alternatives".to_owned());
            }
        }
    }

    fn operand(&mut self) -> Result<Vec<NodeSet>, String> {
        if let Some(rest) = self.rest.strip_prefix('(') {
            self.rest = rest;
            let inside = self.sequence()?;
            self.close(')')?;
            return Ok(inside);
        }
        if let Some(rest) = self.rest.strip_prefix('[') {
            self.rest = rest;
            let mut inside = self.name()?;
            while let Some(rest) = self.rest.strip_prefix('|') {
                self.rest = rest;
                inside.append(&mut self.name()?);
            }
            self.close(']')?;
            return Ok(inside);
        }
        self.name()
    }

    fn close(&mut self, bracket: char) -> Result<(), String> {
        match self.rest.strip_prefix(bracket) {
            Some(rest) => self.rest = rest,
            None => return Err(format!("no {bracket} before \"{}\"", self.rest)),
        }
        Ok(())
    }

    fn name(&mut self) -> Result<Vec<NodeSet>, String> {
        let end = self.rest.find(['&', '|', ',', '(', ')', '[', ']', '*']);
        let (name, rest) = self.rest.split_at(end.unwrap_or(self.rest.len()));
        if name.is_empty() {
            return Err(format!("a name is missing before \"{rest}\""));
        }
        if rest.starts_with('*') {
            return Err("numbers of nodes (*) are not simulated".to_owned());
        }
        self.rest = rest;
        let mut set = NodeSet::none(self.nodes.len());
        for (number, node) in self.nodes.iter().enumerate() {
            if node.features.iter().any(|feature| feature == name) {
                set.insert(number);
            }
        }
        Ok(vec![set])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nodes() -> Vec<Node> {
        let features = [&["fat", "a"][..], &["fat", "b"], &["thin", "a"], &["thin"]];
        let node = |(number, features): (usize, &&[&str])| Node {
            features: features.iter().map(|text| (*text).to_owned()).collect(),
            ..Node::new(format!("n{number}"), 4, 0)
        };
        features.iter().enumerate().map(node).collect()
    }

    fn found(expression: &str) -> Vec<Vec<usize>> {
        let sets = alternatives(expression, &nodes()).unwrap();
        sets.iter().map(|set| set.iter().collect()).collect()
    }

    #[test]
    fn expressions_choose_nodes() {
        assert_eq!(found("fat"), [[0, 1]]);
        assert_eq!(found("fat&a"), [[0]]);
        assert_eq!(found("b|thin&a"), [[2]]);
        assert_eq!(found("b|(thin&a)"), [[1, 2]]);
        assert_eq!(found("[fat|thin]"), [[0, 1], [2, 3]]);
        assert_eq!(found("a&[fat|thin]"), [[0], [2]]);
        assert_eq!(found("nobody"), [Vec::<usize>::new()]);
    }

    #[test]
    fn damaged_expressions_are_told() {
        for text in ["", "a&", "(a", "[a&b]", "a)", "a*2", "a&&b"] {
            assert!(alternatives(text, &nodes()).is_err(), "{text}");
        }
    }
}
