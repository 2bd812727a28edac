// How is something shown that may be wider or longer than its place? Scrolled, by keyboard, too.
import type { ComponentChildren } from "preact";

/** Content that scrolls by itself. Somebody without a mouse can get into it, and is told what it is. */
export function Scroll({ label, children }: { label: string; children: ComponentChildren }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: without focus, keys cannot scroll it (WCAG 2.1.1)
    <section class="scroll" tabIndex={0} aria-label={label}>
      {children}
    </section>
  );
}

/** Text as it is, which may be long. */
export function Long({ label, text }: { label: string; text: string }) {
  return (
    <Scroll label={label}>
      <pre>{text}</pre>
    </Scroll>
  );
}
