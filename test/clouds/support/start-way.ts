// A fake cloud whose machines are processes here.
import { join } from "node:path";
import { LocalMachines } from "./machines.ts";
import type { WholeFake, WholeWay } from "./whole.ts";

/** Starts the fake of a kind of cloud, at `port` or any free one. Its machines get directories in `home`. */
export async function startWay(
  { start, endsWithFirstProcess }: WholeWay,
  home: string,
  port?: number,
): Promise<{ fake: WholeFake; machines: LocalMachines }> {
  const fake = await start({
    onBoot: (machine) => machines.boot(machine),
    onEnd: (id) => machines.end(id),
    port,
  });
  const machines = new LocalMachines(join(home, "machines"), {
    onEnded: (id) => fake.ended(id),
    tick: () => fake.settle(),
    ...(endsWithFirstProcess === undefined ? {} : { endsWithFirstProcess }),
  });
  return { fake, machines };
}
