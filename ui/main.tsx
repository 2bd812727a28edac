// The start of the dashboard (ui.md).
import { options, render } from "preact";
import { openSession } from "./api/session.ts";
import { App } from "./app.tsx";
import { followLinks } from "./router/place.ts";
import { startClock } from "./store/clock.ts";
import { onFrame } from "./store/frame.ts";
import { startFrugal } from "./store/frugal.ts";
import { startLive } from "./store/live.ts";

// Whatever changes in a frame is drawn once, with it (ui.md#d14).
options.debounceRendering = onFrame;

const root = document.getElementById("page");
if (root !== null) {
  followLinks();
  startClock();
  startFrugal();
  startLive();
  void openSession();
  render(<App />, root);
}
