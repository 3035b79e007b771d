// uses: pairs/pair_excludes_listed, queries/query

// A list of the caller's, a function of the caller's, or both part partners as they part pairs.

var<private> asking: u32;

fn begin_excludes(query: Query) {
    asking = query.asker;
}

fn is_parted(object: u32) -> bool {
    return is_excluded(asking, object);
}
