// uses: common/prelude

// False with one world. A pipeline constant, so that hot loops compile without worlds.
override WORLDS: bool = true;

// True if objects of these worlds may meet.
fn worlds_meet(a: u32, b: u32) -> bool {
    if (!WORLDS) {
        return true;
    }
    return (a == b) | (a == ALL_WORLDS) | (b == ALL_WORLDS);
}
