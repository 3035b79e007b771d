// uses: queries/query

// Nothing parts what asks from what it finds beside filters.

fn begin_excludes(query: Query) {
}

fn is_parted(object: u32) -> bool {
    return false;
}
