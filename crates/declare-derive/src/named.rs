//! `#[derive(Named)]`.

use proc_macro2::TokenStream;
use quote::{ToTokens, quote};
use syn::meta::ParseNestedMeta;
use syn::{Attribute, Data, DeriveInput, Fields, Ident, LitStr, Path, Result, Token, Variant};

use crate::documentation::first_paragraph;

/// What is known of a variant.
struct Entry<'a> {
    ident: &'a Ident,
    /// A pattern for it that binds nothing.
    pattern: TokenStream,
    name: String,
    text: String,
    options: Vec<String>,
    by_value: bool,
    is_default: bool,
}

pub fn derive(input: &DeriveInput) -> Result<TokenStream> {
    let Data::Enum(data) = &input.data else {
        let message = "only an enum has names of its variants";
        return Err(syn::Error::new_spanned(&input.ident, message));
    };
    let case = case_of(&input.attrs)?;
    let kinds = kinds_of(&input.attrs)?;
    let entries: Vec<Entry<'_>> = (data.variants.iter())
        .map(|variant| entry(variant, &case))
        .collect::<Result<_>>()?;
    let plain = (data.variants.iter()).all(|variant| matches!(variant.fields, Fields::Unit));
    let mut tokens = implement(&input.ident, &entries, plain);
    if let Some(kinds) = kinds {
        tokens.extend(declare_kinds(input, &kinds, &entries));
    }
    Ok(tokens)
}

fn entry<'a>(variant: &'a Variant, case: &str) -> Result<Entry<'a>> {
    let ident = &variant.ident;
    let mut name = in_case(&ident.to_string(), case);
    let (mut options, mut by_value) = (Vec::new(), false);
    for attribute in &variant.attrs {
        if attribute.path().is_ident("serde") {
            attribute.parse_nested_meta(|meta| match meta.path.is_ident("rename") {
                true => {
                    name = meta.value()?.parse::<LitStr>()?.value();
                    Ok(())
                }
                false => skip(&meta),
            })?;
        } else if attribute.path().is_ident("named") {
            attribute.parse_nested_meta(|meta| {
                if meta.path.is_ident("by_value") {
                    by_value = true;
                    return Ok(());
                }
                if !meta.path.is_ident("options") {
                    let message = "found an unknown key; allowed: options(\"…\", …), by_value";
                    return Err(meta.error(message));
                }
                let list;
                syn::parenthesized!(list in meta.input);
                let names =
                    list.parse_terminated(<LitStr as syn::parse::Parse>::parse, Token![,])?;
                options.extend(names.iter().map(LitStr::value));
                Ok(())
            })?;
        }
    }
    let text = first_paragraph(&variant.attrs);
    if text.is_empty() {
        let message = "wants a documentation comment, whose first paragraph users read";
        return Err(syn::Error::new_spanned(ident, message));
    }
    Ok(Entry {
        ident,
        pattern: match variant.fields {
            Fields::Unit => quote!(Self::#ident),
            Fields::Named(_) => quote!(Self::#ident { .. }),
            Fields::Unnamed(_) => quote!(Self::#ident(..)),
        },
        name,
        text,
        options,
        by_value,
        is_default: (variant.attrs.iter()).any(|attribute| attribute.path().is_ident("default")),
    })
}

fn implement(ident: &Ident, entries: &[Entry<'_>], plain: bool) -> TokenStream {
    let names: Vec<&str> = entries.iter().map(|entry| entry.name.as_str()).collect();
    let texts = entries.iter().map(|entry| &entry.text);
    let options = entries.iter().map(|entry| {
        let options = &entry.options;
        quote!(&[#(#options),*])
    });
    let by_value = entries.iter().map(|entry| entry.by_value);
    let patterns: Vec<&TokenStream> = entries.iter().map(|entry| &entry.pattern).collect();
    let places = 0..entries.len();
    let default = match entries.iter().find(|entry| entry.is_default) {
        Some(entry) => {
            let name = &entry.name;
            quote!(::core::option::Option::Some(#name))
        }
        None => quote!(::core::option::Option::None),
    };
    let idents: Vec<&Ident> = entries.iter().map(|entry| entry.ident).collect();
    let listed = plain.then(|| {
        quote! {
            impl #ident {
                /// All of them, in the order in which they are declared.
                pub const ALL: &'static [Self] = &[#(Self::#idents),*];
            }

            impl ::odonata_declare::Listed for #ident {
                const ALL: &'static [Self] = Self::ALL;
            }
        }
    });
    quote! {
        impl #ident {
            /// The name in scenarios.
            pub const fn name(&self) -> &'static str {
                match self {
                    #(#patterns => #names,)*
                }
            }
        }

        impl ::odonata_declare::Named for #ident {
            const NAMES: &'static [&'static str] = &[#(#names),*];
            const TEXTS: &'static [&'static str] = &[#(#texts),*];
            const OPTIONS: &'static [&'static [&'static str]] = &[#(#options),*];
            const BY_VALUE: &'static [bool] = &[#(#by_value),*];
            const DEFAULT: ::core::option::Option<&'static str> = #default;

            fn place(&self) -> usize {
                match self {
                    #(#patterns => #places,)*
                }
            }
        }

        #listed
    }
}

/// An enum of the same variants without fields.
fn declare_kinds(input: &DeriveInput, kinds: &Ident, entries: &[Entry<'_>]) -> TokenStream {
    let (ident, visibility) = (&input.ident, &input.vis);
    let text = format!("Which [`{ident}`] it is, without its fields.");
    let idents: Vec<&Ident> = entries.iter().map(|entry| entry.ident).collect();
    let names = entries.iter().map(|entry| &entry.name);
    let texts: Vec<&String> = entries.iter().map(|entry| &entry.text).collect();
    let default = entries.iter().any(|entry| entry.is_default);
    let derive_default = default.then(|| quote!(#[derive(Default)]));
    let markers = (entries.iter()).map(|entry| entry.is_default.then(|| quote!(#[default])));
    let patterns = entries.iter().map(|entry| {
        let pattern = entry.pattern.to_token_stream();
        quote!(#pattern)
    });
    let plain: Vec<Entry<'_>> = (entries.iter())
        .map(|entry| Entry {
            ident: entry.ident,
            pattern: {
                let ident = entry.ident;
                quote!(Self::#ident)
            },
            name: entry.name.clone(),
            text: entry.text.clone(),
            options: entry.options.clone(),
            by_value: entry.by_value,
            is_default: entry.is_default,
        })
        .collect();
    let implementation = implement(kinds, &plain, true);
    quote! {
        #[doc = #text]
        #[derive(
            Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord,
            ::odonata_declare::serde::Serialize, ::odonata_declare::serde::Deserialize,
        )]
        #[serde(crate = "::odonata_declare::serde")]
        #derive_default
        #visibility enum #kinds {
            #(
                #[doc = #texts]
                #markers
                #[serde(rename = #names)]
                #idents,
            )*
        }

        impl #ident {
            /// Which it is, without its fields.
            #visibility const fn kind(&self) -> #kinds {
                match self {
                    #(#patterns => #kinds::#idents,)*
                }
            }
        }

        #implementation
    }
}

/// The case of variants' names: serde's `rename_all`.
fn case_of(attributes: &[Attribute]) -> Result<String> {
    let mut case = "kebab-case".to_owned();
    for attribute in attributes.iter().filter(|a| a.path().is_ident("serde")) {
        attribute.parse_nested_meta(|meta| match meta.path.is_ident("rename_all") {
            true => {
                let given = meta.value()?.parse::<LitStr>()?;
                case = given.value();
                match case.as_str() {
                    "kebab-case" | "snake_case" => Ok(()),
                    _ => Err(syn::Error::new_spanned(
                        given,
                        "allowed: kebab-case, snake_case",
                    )),
                }
            }
            false => skip(&meta),
        })?;
    }
    Ok(case)
}

/// What `#[named(kinds = Name)]` says.
fn kinds_of(attributes: &[Attribute]) -> Result<Option<Ident>> {
    let mut kinds = None;
    for attribute in attributes.iter().filter(|a| a.path().is_ident("named")) {
        attribute.parse_nested_meta(|meta| match meta.path.is_ident("kinds") {
            true => {
                kinds = Some(meta.value()?.parse::<Ident>()?);
                Ok(())
            }
            false => Err(meta.error("found an unknown key; allowed: kinds = Name")),
        })?;
    }
    Ok(kinds)
}

/// Goes past what another derive understands.
fn skip(meta: &ParseNestedMeta<'_>) -> Result<()> {
    if meta.input.peek(Token![=]) {
        let value = meta.value()?;
        if value.peek(LitStr) {
            value.parse::<LitStr>()?;
        } else {
            value.parse::<Path>()?;
        }
    } else if meta.input.peek(syn::token::Paren) {
        let inner;
        syn::parenthesized!(inner in meta.input);
        inner.parse::<TokenStream>()?;
    }
    Ok(())
}

/// `UpDown` as `up-down` or `up_down`.
fn in_case(ident: &str, case: &str) -> String {
    let separator = if case == "snake_case" { '_' } else { '-' };
    let mut name = String::new();
    for letter in ident.chars() {
        if letter.is_uppercase() && !name.is_empty() {
            name.push(separator);
        }
        name.extend(letter.to_lowercase());
    }
    name
}
