/** By what share of the time a host's clock is fast or slow, at most. */
export const MOST_DRIFT = 0.01;
/**
 * By how much the control plane's clock is wrong at most, in either direction. A jump by more than the margin
 * of a lease could break what leases promise: `drover up` keeps those away (`local/clock.ts`).
 */
export const MOST_OFF_MS = 25_000;

/**
 * What can go wrong, each with how often. A fault that is left out of `on` never happens: so a story is
 * shortened.
 */
export const FAULTS = {
  /** A request, or its reply, is lost. */
  loss: 0.04,
  /** A request is delivered twice. */
  doubling: 0.04,
  /** A message takes up to 20 s instead of some milliseconds, so that others overtake it. */
  delay: 0.03,
  /** An object's process dies in a commit: with half a chance before it, so that nothing is stored. */
  crash: 0.01,
  /** A host is cut off for some minutes. */
  partition: 0.3,
  /** A host falls silent for some minutes, just before an order reaches its worker. */
  silentBeforeOrder: 0.02,
  /** A host's agent is killed and started again. */
  agentRestart: 0.2,
  /** A machine dies. */
  machineDeath: 0.15,
  /** A create call makes the machine, and its answer is lost. */
  lostCreate: 0.15,
  /** A create call is refused. */
  refusedCreate: 0.1,
  /**
   * A create call is answered with a machine that comes to be only minutes later: its worker has given it up.
   */
  lateMachine: 0.04,
  /** A create call makes a second machine under the same name, which nothing ever runs on. */
  secondMachine: 0.05,
  /** Listings miss an instance that exists, for less than the consistency window. */
  omission: 0.1,
  /** A destroy call does nothing. */
  idleDestroy: 0.2,
  /** A create call fails, and so does a destroy call, for no reason that anybody would know. */
  createError: 0.05,
  destroyError: 0.1,
  /** A create call is answered, and the machine never boots: its provider ends it for lack of capacity. */
  withdrawn: 0.08,
  /** A create call is answered with nothing but that the provider works on it. */
  pendingCreate: 0.1,
  /** A zone of the cloud has an outage of some minutes: no creates there, and no listing shows it. */
  zoneOutage: 0.12,
  /** A listing fails whole, by itself. */
  listError: 0.05,
  /** A spot machine is taken back by its provider, at once or two minutes after a notice. */
  takenBack: 0.1,
  /** Other tools use up the calls of the account for some minutes. */
  scarceCalls: 0.05,
  /** The control plane is deployed anew, with another agent. */
  newAgent: 0.1,
  /** For an hour the provider refuses every call: creates, destroys and listings. */
  refusesAll: 0.15,
  /** A machine never reports: it comes without an agent. */
  deadBoot: 0.1,
  /** A machine stops answering, for good. */
  deafMachine: 0.03,
  /** A host says that its machine is broken. */
  brokenMachine: 0.03,
  /** What watches over an attempt dies with it: how it ended will never be known. */
  lostSupervisor: 0.02,
  /** Something of a run holds on to its machine when nothing of its tree is left. */
  staleLock: 0.02,
  /** The data of a sticky run cannot be stored. */
  lostData: 0.2,
  /** An alarm is never delivered. */
  lostAlarm: 0.01,
  /** A host that looks gets notice that its machine will go; it may be taken back. */
  notice: 0.01,
  /** An operator drains a worker. */
  drain: 0.15,
  /** An operator kills a worker by its name, most often by force. */
  forcedKill: 0.05,
  /** An operator deletes the pool by force, and puts it again later. */
  forcedDeletion: 0.01,
  /** A self-hosted machine joins the pool, and reboots instead of dying. */
  ownMachine: 0.4,
  /** A host lies: it says anything, of any run, as often as it likes. */
  liar: 0.15,
  /** The receiver of the story's events is down for some minutes. */
  receiverDown: 0.5,
  /** A signal takes its time to have an effect. */
  slowSignal: 0.5,
  /** A host is a shell script: restart delays and time limits are the control plane's to see to. */
  shellScript: 0.3,
  /** The disk below the objects takes no writes for some minutes. */
  fullDisk: 0.03,
  /** The disk of a machine is full for some minutes: no journal is written there, and nothing starts. */
  fullHost: 0.06,
  /** A host's clock is off, by up to `MOST_DRIFT`. */
  drift: 1,
  /** Nothing of the control plane runs for some minutes, as when its machine sleeps or is off. */
  planeAway: 0.12,
  /** The control plane's clock jumps, either way, by up to twice `MOST_OFF_MS`. */
  planeClock: 0.15,
  /** A host's clock, which counts from its boot, jumps ahead: it has slept. */
  hostClock: 0.1,
} as const;

export type Fault = keyof typeof FAULTS;
export const ALL_FAULTS = Object.keys(FAULTS) as Fault[]; // the keys are the faults
