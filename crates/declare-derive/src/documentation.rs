//! Texts from documentation comments.

use syn::{Attribute, Expr, Lit, Meta};

/// The first paragraph of an item's documentation, on one line.
pub fn first_paragraph(attributes: &[Attribute]) -> String {
    let lines = attributes.iter().filter_map(line);
    let lines: Vec<String> = lines.map(|line| line.trim().to_owned()).collect();
    let paragraph = lines.iter().take_while(|line| !line.is_empty());
    paragraph.map(String::as_str).collect::<Vec<_>>().join(" ")
}

fn line(attribute: &Attribute) -> Option<String> {
    let Meta::NameValue(pair) = &attribute.meta else {
        return None;
    };
    match &pair.value {
        Expr::Lit(literal) if pair.path.is_ident("doc") => match &literal.lit {
            Lit::Str(text) => Some(text.value()),
            _ => None,
        },
        _ => None,
    }
}
