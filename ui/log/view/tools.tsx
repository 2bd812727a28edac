// What each view of output offers: its end, and how long lines are shown.

/** The button that follows (ui.md#d2). It says how many lines have come since the reader stopped. */
export function EndButton(props: { newRows: number; isFollowing: boolean; onClick: () => void }) {
  const { newRows, isFollowing, onClick } = props;
  return (
    <button type="button" data-follow onClick={onClick} disabled={isFollowing}>
      {newRows > 0 ? `${newRows.toLocaleString("en")} new ${newRows === 1 ? "line" : "lines"}` : "End"}
    </button>
  );
}

/** The box that wraps long lines (ui.md#d9). */
export function WrapBox({ wraps, onWrap }: { wraps: boolean; onWrap: (on: boolean) => void }) {
  return (
    <label>
      <input
        type="checkbox"
        checked={wraps}
        onChange={({ currentTarget }) => onWrap(currentTarget.checked)}
      />{" "}
      Wrap long lines
    </label>
  );
}
