import { execFileSync } from "node:child_process";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { formatSeconds } from "../../src/shared/duration.ts";
import { type Dashboard, hasBrowser, startDashboard } from "./support/dashboard.ts";

describe.skipIf(!hasBrowser)("the page of a run in the dashboard", () => {
  let at: Dashboard;
  beforeAll(async () => {
    at = await startDashboard();
  });
  afterAll(() => at?.stop());

  const current = '.tabs[aria-label="Parts of the run"] [aria-current]';

  test("D18: the queue and each phase of the boot have bars of their own (ui.md#d18)", async () => {
    // The first run of this Drover, for which its machine is made.
    const id = await at.run("sleep 2");
    await at.until(id, "done");
    const { page, asked, close } = await at.open(`/ui/runs/${id}`);
    const phases = page.locator(".timeline tbody tr");
    await phases.getByText("machine boots").waitFor();
    expect(await phases.locator("td:first-child").allTextContents()).toEqual([
      ...["queued", "machine requested", "machine boots", "machine probed", "preparing", "running"],
    ]);
    expect(await page.locator(".timeline .bar").count()).toBe(6);
    const running = phases.filter({ has: page.locator(".bar.running") });
    const { tasks } = await at.json(200, "GET", `/v1/runs/${id}`);
    const { startedAt, finishedAt } = tasks[0].attempts[0];
    const took = formatSeconds(Date.parse(finishedAt) - Date.parse(startedAt));
    expect(await running.locator("td").allTextContents()).toEqual([
      ...["running", "main/1.1", expect.stringMatching(/^\d/), took, ""],
    ]);
    // One question has all of that.
    const about = asked.filter((path) => /^\/v1\/(workers|runs\/[^/]+(\?|$))/.test(path));
    expect(about).toEqual([`/v1/runs/${id}?include=boot`]);
    await close();
  });

  test("a machine says how much of it is in use, and its console if somebody asks (ui.md#d16)", async () => {
    const id = await at.run("sleep 1000");
    await at.until(id, "running");
    const [worker] = (await at.json(200, "GET", "/v1/workers?state=running")).items;
    const { page, asked, close } = await at.open("/ui/workers");
    const text = `${worker.used.vcpus} of ${worker.resources.vcpus} vCPUs`;
    const row = page.getByRole("row").filter({ hasText: worker.id });
    await row.getByText(text).waitFor();
    const bar = row.getByRole("meter", { name: "vCPUs in use" });
    expect(await bar.evaluate((meter) => ["value", "max"].map((name) => Reflect.get(meter, name)))).toEqual([
      worker.used.vcpus,
      worker.resources.vcpus,
    ]);
    await row.getByRole("link", { name: worker.id }).click();
    await page.locator(".facts").getByText(text).waitFor();
    await page.getByRole("meter", { name: "Memory in use" }).waitFor();
    const looks = () => asked.filter((path) => path.endsWith("/console")).length;
    expect(looks()).toBe(0);
    await page.getByRole("button", { name: "Show console" }).click();
    await page
      .getByText("The end of the console")
      .or(page.getByLabel("The end of the console"))
      .first()
      .waitFor();
    await page.getByText(`drover console ${worker.id}`).waitFor();
    expect(looks()).toBe(1);
    await at.json(200, "POST", `/v1/runs/${id}/abort`, {});
    await at.until(id, "done");
    await close();
  });

  test.each([
    ["a failed run opens at its output", "echo last $((1 + 1)) words; exit 1", "log", "last 2 words"],
    ["a succeeded run opens at its summary", "echo fine", "summary", "Placements"],
  ])("D1: %s (ui.md#d1)", async (_, script, tab, text) => {
    const id = await at.run(script);
    await at.until(id, "done");
    const { page, close } = await at.open(`/ui/runs/${id}`);
    await page.getByText(text).first().waitFor();
    expect(await page.locator(current).textContent()).toBe(tab);
    await close();
  });

  test("D1: the page of a run that waits follows its output once it starts (ui.md#d1)", async () => {
    const first = await at.fill();
    const id = await at.run("echo started $((1 + 1)) ways; sleep 1000");
    const { page, close } = await at.open(`/ui/runs/${id}`);
    await page.getByText("Next:").waitFor();
    expect(await page.locator(current).textContent()).toBe("summary");
    await at.json(200, "POST", `/v1/runs/${first}/abort`, {});
    await page.getByText("started 2 ways").waitFor();
    expect(await page.locator(current).textContent()).toBe("log");
    await page.locator("main .state").filter({ hasText: "running" }).first().waitFor();
    await at.json(200, "POST", `/v1/runs/${id}/abort`, {});
    await page.locator("main .state").filter({ hasText: "aborted" }).first().waitFor();
    // What happens later moves nobody.
    expect(await page.locator(current).textContent()).toBe("log");
    await close();
  });

  test("a signal reaches the task that is chosen, and the command says the same (ui.md#d20)", async () => {
    const script = (name: string) =>
      `trap 'echo ${name} got $((1 + 1)); exit 0' USR1; echo ready $((1 + 2)); while :; do sleep 0.1; done`;
    const tasks = ["one", "two"].map((name) => ({ name, argv: ["sh", "-c", script(name)] }));
    const { id } = await at.json(201, "POST", "/v1/runs", { tasks });
    await at.until(id, "running");
    const { page, close } = await at.open(`/ui/runs/${id}`);
    await page.getByText("ready 3").waitFor();
    await page.getByRole("button", { name: "Signal" }).click();
    const dialog = page.getByRole("dialog", { name: `Send a signal to ${id}?` });
    await dialog.getByRole("combobox", { name: "Signal" }).selectOption("SIGUSR1");
    await dialog.getByRole("combobox", { name: "Task" }).selectOption("one");
    await dialog.getByText(`drover signal --task one ${id} SIGUSR1`).waitFor();
    await dialog.getByRole("button", { name: "Signal" }).click();
    await page.getByText("one got 2").waitFor();
    expect((await at.json(200, "GET", `/v1/runs/${id}`)).tasks[1].state).toBe("running");
    await at.json(200, "POST", `/v1/runs/${id}/abort`, {});
    await close();
  });

  test("a task has one line with what its checks say (health.md#status)", async () => {
    const checks = [
      { name: "fine", command: { argv: ["true"] }, interval: "1s" },
      {
        name: "bad",
        command: { argv: ["sh", "-c", "echo it is full; exit 2"] },
        interval: "1s",
        // The text of the first failure stays, and on a busy machine the first try may be late.
        timeout: "1m",
        failAfter: 1,
      },
    ];
    const id = await at.run("sleep 1000", { checks });
    await at.until(id, "running");
    const { page, close } = await at.open(`/ui/runs/${id}?tab=summary`);
    const said = async () =>
      (await at.json(200, "GET", `/v1/runs/${id}`)).tasks[0].checks.map(
        ({ status, output }: { status: string; output?: string }) => `${status} ${output ?? ""}`,
      );
    const FULL = "critical its command ended with exit code 2: it is full";
    await expect.poll(said).toEqual(["passing ", FULL]);
    const line = page.getByText(/^main: fine is passing since .*; bad is critical since .*: .*: it is full$/);
    await line.waitFor();
    await close();
    await at.json(200, "POST", `/v1/runs/${id}/abort`, {});
  });

  test("a result is one click away, and says how to pull it (ui.md#d20)", async () => {
    const id = await at.run("echo made > made.txt", { outputs: ["made.txt"] });
    await at.until(id, "done");
    const { page, close } = await at.open(`/ui/runs/${id}?tab=summary`);
    const result = page.getByRole("region", { name: "Result" });
    await result.getByText(`drover pull ${id}`).waitFor();
    const [file] = await Promise.all([
      page.waitForEvent("download"),
      result.getByRole("link", { name: "Download the archive" }).click(),
    ]);
    const listed = execFileSync("tar", ["-tf", await file.path()], { encoding: "utf8" });
    expect(listed).toContain("made.txt");
    await close();
  });

  test("D13: the page of an ended run asks nothing about it again (ui.md#d13)", async () => {
    const id = await at.run("true");
    await at.until(id, "done");
    const { page, asked, close } = await at.open(`/ui/runs/${id}`);
    await page.getByText("not live").waitFor();
    await page.getByRole("heading", { name: "Placements" }).waitFor();
    await page.getByLabel("Why, and what comes next").waitFor();
    const about = () => asked.filter((path) => path.includes(id) || path.startsWith("/v1/events"));
    const before = about().length;
    // Another run changes the pool meanwhile, which a page that follows it would notice.
    await at.until(await at.run("true"), "done");
    await page.getByRole("link", { name: "events", exact: true }).click();
    await page.getByRole("cell", { name: "Received" }).waitFor();
    expect(about().slice(before)).toEqual([`/v1/runs/${id}/events`]);
    await close();
  });

  test("D19: an abort names the run, and its end is shown once confirmed (ui.md#d19)", async () => {
    const id = await at.run('trap "" TERM; sleep 1000', { killTimeout: "1s" });
    await at.until(id, "running");
    const { page, close } = await at.open(`/ui/runs/${id}`);
    await page.getByRole("button", { name: "Abort" }).click();
    const dialog = page.getByRole("dialog", { name: `Abort ${id}?` });
    await dialog.getByText("It has ended once its machine says so").waitFor();
    await dialog.getByRole("button", { name: "Abort" }).click();
    await page.locator(".state").filter({ hasText: "aborted" }).waitFor();
    expect((await at.json(200, "GET", `/v1/runs/${id}`)).state).toBe("aborted");
    await close();
  });

  test("D20: an action is shown as a command and as curl, which does the same (ui.md#d20)", async () => {
    const id = await at.run("sleep 1000");
    await at.until(id, "running");
    const { page, close } = await at.open(`/ui/runs/${id}`);
    await page.getByRole("button", { name: "Abort" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByText(`drover abort ${id}`).waitFor();
    const command = (await dialog.getByText(/^curl /).textContent()) ?? "";
    execFileSync("sh", ["-c", command], { env: { ...process.env, DROVER_TOKEN: at.token }, stdio: "pipe" });
    // The question closes by itself, since there is nothing left to abort.
    await dialog.waitFor({ state: "hidden" });
    await page.locator(".state").filter({ hasText: "aborted" }).waitFor();
    await close();
  });

  test("a run is run again unchanged, and its page opens", async () => {
    const id = await at.run("echo again", { labels: { kind: "repeat" } });
    await at.until(id, "done");
    const { page, close } = await at.open(`/ui/runs/${id}`);
    await page.getByRole("button", { name: "Rerun" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Rerun" }).click();
    await page.waitForURL((url) => url.pathname.startsWith("/ui/runs/") && !url.pathname.endsWith(id));
    const next = new URL(page.url()).pathname.split("/").at(-1);
    expect((await at.json(200, "GET", `/v1/runs/${next}`)).spec).toMatchObject({
      rerunOf: id,
      labels: { kind: "repeat" },
    });
    await close();
  });

  test("text of a user is shown as it is, and runs nothing (ui.md#security)", async () => {
    const hostile = '<img src=x onerror="document.title=1"><script>document.title=2</script>';
    const id = await at.run(`echo '${hostile}'; exit 1`, { labels: { note: "<b>x</b>" } });
    await at.until(id, "done");
    const { page, close } = await at.open(`/ui/runs/${id}`);
    await page.getByText("onerror").first().waitFor();
    expect(await page.title()).not.toMatch(/^[12]$/);
    expect(await page.locator("main img, main script, main b").count()).toBe(0);
    await close();
  });

  test("a run that is not there says so, and what to do (ui.md#d16)", async () => {
    const { page, close } = await at.open("/ui/runs/nobody-made-this");
    await page.getByRole("alert").getByText("Check the name in the address").waitFor();
    await close();
  });
});
