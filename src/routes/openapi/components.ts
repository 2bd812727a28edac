// Which schemas are named components of the OpenAPI document?
import type { z } from "zod";
import { HostResources, LogPiece, Sample, SavedFiles } from "../../schema/host.ts";
import { MachineState } from "../../schema/machine-state.ts";
import {
  HoldOff,
  IdleBehavior,
  InstanceType,
  MachineResources,
  PoolProbe,
  PoolRetention,
  PutPoolConfig,
  ShownPoolConfig,
  Timeouts,
  WorkerHistoryEntry,
  WorkerStateName,
} from "../../schema/pool.ts";
import { ErrorCode, Problem } from "../../schema/problem.ts";
import {
  Abort,
  AllocStatus,
  Attempt,
  Exit,
  Failure,
  RunSpec,
  RunState,
  ServiceStatus,
  TaskState,
} from "../../schema/run/run.ts";
import {
  Artifact,
  FakeInput,
  Lifecycle,
  RescheduleInput,
  ResourcesWanted,
  RestartInput,
  Signal,
  StartErrorCode,
  TaskInput,
  TaskResources,
} from "../../schema/run/task.ts";
import { Flag, StateWord } from "./params.ts";

/**
 * Schemas that become components before any route is read. The library makes other named schemas components
 * where it first meets them, including what belongs to that place alone, such as a default or null.
 */
export const COMPONENTS: readonly z.ZodType[] = [
  StateWord,
  Flag,
  AllocStatus,
  TaskState,
  HostResources,
  LogPiece,
  Sample,
  SavedFiles,
  IdleBehavior,
  PoolProbe,
  PoolRetention,
  Timeouts,
  Signal,
  Lifecycle,
  RestartInput,
  RescheduleInput,
  ResourcesWanted,
  TaskResources,
  Artifact,
  StartErrorCode,
  FakeInput,
  TaskInput,
  RunSpec,
  RunState,
  Exit,
  Attempt,
  Abort,
  Failure,
  ErrorCode,
  Problem,
  ServiceStatus,
  WorkerStateName,
  WorkerHistoryEntry,
  MachineResources,
  MachineState,
  HoldOff,
  InstanceType,
  PutPoolConfig,
  ShownPoolConfig,
];
