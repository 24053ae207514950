"""Grammars of tree-sitter by the extension of a file, and the types of their nodes that matter."""

from collections.abc import Mapping

# Extension → module of the grammar and its function.
GRAMMARS: Mapping[str, tuple[str, str]] = {
    **dict.fromkeys((".py", ".pyi"), ("tree_sitter_python", "language")),
    **dict.fromkeys((".js", ".jsx", ".mjs", ".cjs"), ("tree_sitter_javascript", "language")),
    **dict.fromkeys((".ts", ".mts", ".cts"), ("tree_sitter_typescript", "language_typescript")),
    ".tsx": ("tree_sitter_typescript", "language_tsx"),
    ".go": ("tree_sitter_go", "language"),
    ".rs": ("tree_sitter_rust", "language"),
    ".java": ("tree_sitter_java", "language"),
    ".c": ("tree_sitter_c", "language"),
    **dict.fromkeys((".cc", ".cpp", ".cxx", ".h", ".hh", ".hpp", ".hxx"), ("tree_sitter_cpp", "language")),
    ".cs": ("tree_sitter_c_sharp", "language"),
    ".rb": ("tree_sitter_ruby", "language"),
    ".php": ("tree_sitter_php", "language_php"),
    **dict.fromkeys((".sh", ".bash", ".zsh"), ("tree_sitter_bash", "language")),
}
# Types of nodes in the grammars above. The insides of a routine are not searched.
ROUTINES = frozenset(
    (
        *("abstract_method_signature", "const_declaration", "const_item"),
        *("constructor_declaration", "declaration", "delegate_declaration"),
        *("destructor_declaration", "enum_declaration", "enum_item", "enum_specifier"),
        *("field_declaration", "function_declaration", "function_definition", "function_item"),
        *("function_signature", "function_signature_item", "generator_function_declaration"),
        *("lexical_declaration", "local_function_statement", "macro_definition", "method"),
        *("method_declaration", "method_definition", "method_signature", "operator_declaration"),
        *("preproc_def", "preproc_function_def", "property_declaration", "singleton_method"),
        *("static_item", "struct_item", "type_alias_declaration", "type_declaration"),
        *("type_definition", "type_item", "var_declaration", "variable_declaration"),
    )
)
CONTAINERS = frozenset(
    (
        *("abstract_class_declaration", "annotation_type_declaration", "class"),
        *("class_declaration", "class_definition", "class_specifier"),
        *("file_scoped_namespace_declaration", "impl_item", "interface_declaration"),
        *("internal_module", "mod_item", "module", "namespace_declaration", "namespace_definition"),
        *("record_declaration", "struct_declaration", "struct_specifier", "trait_declaration"),
        *("trait_item", "union_specifier"),
    )
)
TRANSPARENT = frozenset(
    (
        *("ERROR", "ambient_declaration", "block", "body_statement", "class_body"),
        *("declaration_list", "decorated_definition", "enum_body", "enum_member_declaration_list"),
        *("export_statement", "expression_statement", "field_declaration_list", "interface_body"),
        *("linkage_specification", "object_type", "preproc_else", "preproc_if", "preproc_ifdef"),
        *("program", "statement_block", "template_declaration"),
    )
)
