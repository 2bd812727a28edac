// The start of the dashboard (ui.md).
import { render } from "preact";
import { openSession } from "./api/session.ts";
import { App } from "./app.tsx";
import { followLinks } from "./router/place.ts";
import { startClock } from "./store/clock.ts";
import { startFrugal } from "./store/frugal.ts";
import { startLive } from "./store/live.ts";

const root = document.getElementById("page");
if (root !== null) {
  followLinks();
  startClock();
  startFrugal();
  startLive();
  void openSession();
  render(<App />, root);
}
