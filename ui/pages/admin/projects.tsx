// The projects: which pools serve each, and how much of its quotas it uses.
import type { PoolView, Project } from "../../../src/generated/api.ts";
import { ask } from "../../api/send.ts";
import { Actions } from "../../parts/acts/act.tsx";
import { Pages, pageOf } from "../../parts/lists/pages.tsx";
import { Scroll } from "../../parts/lists/scroll.tsx";
import { Heads } from "../../parts/lists/table.tsx";
import { Nothing, Settled, Trouble } from "../../parts/problem.tsx";
import { Moment } from "../../parts/time.tsx";
import { adminHref } from "../../router/admin.ts";
import { itemHref, queryOf } from "../../router/place.ts";
import { isSettled, useLoad } from "../../store/load.ts";
import { historyHref } from "../events/filter.ts";
import { creationOf, deletionOf } from "./project-actions.tsx";
import { servedBy, usesOf } from "./project-use.ts";

/** The use of quotas changes with the runs. */
const EVERY_MS = 10_000;

/** The part `/ui/admin/projects`. */
export function Projects() {
  const name = queryOf("project");
  const known = useLoad({
    key: "projects",
    everyMs: EVERY_MS,
    ask: async (signal) => {
      const { items } = await ask("listProjects", {}, signal);
      // Who may manage projects need not be allowed to see pools.
      const pools = await ask("listPools", {}, signal).catch(() => undefined);
      return { projects: items, pools: pools?.items };
    },
  });
  const { projects = [], pools } = known.value ?? {};
  return (
    <>
      {name === "" && <h1>Projects</h1>}
      <Trouble error={known.error} again={known.again} />
      {known.value && (
        <Settled isStale={known.isStale}>
          {pools === undefined && <p>Quotas and use are not shown: that needs the scope pools:read.</p>}
          {name === "" ? (
            <List projects={projects} pools={pools ?? []} />
          ) : (
            <One name={name} projects={projects} pools={pools ?? []} again={known.again} />
          )}
        </Settled>
      )}
      {name === "" && isSettled(known) && <Actions actions={[creationOf(known.again)]} />}
    </>
  );
}

function List({ projects, pools }: { projects: readonly Project[]; pools: readonly PoolView[] }) {
  return (
    <>
      <Scroll label="Projects">
        <table>
          <Heads of={["Project", "Made", "Pools that serve it"]} />
          <tbody>
            {pageOf(projects).map(({ name, createdAt, createdBy }) => (
              <tr key={name}>
                <td>
                  <a href={adminHref("projects", name)}>{name}</a>
                </td>
                <td>
                  {createdAt === null ? (
                    "always there"
                  ) : (
                    <>
                      <Moment at={createdAt} /> by {createdBy}
                    </>
                  )}
                </td>
                <td>
                  {servedBy(name, pools)
                    .map((pool) => pool.name)
                    .join(", ") || <span class="none">none</span>}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </Scroll>
      <Pages count={projects.length} label="Pages of the list" />
      {projects.length === 1 && (
        <Nothing why="Everything belongs to one project." type="drover projects create NAME" />
      )}
    </>
  );
}

interface OneProps {
  name: string;
  projects: readonly Project[];
  pools: readonly PoolView[];
  again: () => void;
}

function One({ name, projects, pools, again }: OneProps) {
  const project = projects.find((one) => one.name === name);
  if (project === undefined)
    return <Nothing why={`There is no project ${name}. It may have been deleted.`} />;
  const serving = servedBy(name, pools);
  return (
    <>
      <h1>
        Project <span class="name">{name}</span>
      </h1>
      {project.createdAt !== null && (
        <>
          <p>
            Made <Moment at={project.createdAt} /> by {project.createdBy}.
          </p>
          <Actions actions={[deletionOf(project, serving, again)]} />
        </>
      )}
      <p>
        <a href={historyHref({ target: name, action: "project" })}>Who made it</a>
      </p>
      <h2>What it uses of each pool</h2>
      {serving.length === 0 ? (
        <p>No pool serves it. A pool serves the projects that its configuration names in `projects`.</p>
      ) : (
        <Uses name={name} pools={serving} />
      )}
    </>
  );
}

function Uses({ name, pools }: { name: string; pools: readonly PoolView[] }) {
  return (
    <Scroll label="Quotas and use">
      <table>
        <Heads of={["Pool", "Waiting", "Placed runs", "Machines", "Cost per hour", "Stored output"]} />
        <tbody>
          {pools.map((pool) => (
            <tr key={pool.name}>
              <td>
                <a href={itemHref("pools", pool.name)}>{pool.name}</a>
              </td>
              {usesOf(name, pool).map(({ what, text }) => (
                <td key={what}>{text}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </Scroll>
  );
}
