import type { Stage } from './stage.ts';

/** One measurement. It runs once per round, interleaved with the others, so that a busy moment affects all alike. */
export interface Figure {
  name: string;
  /** The number of rounds it takes part in. */
  rounds(plan: Plan): number;
  /** Only with --full. */
  isLong?: true;
  run(stage: Stage): Promise<Sample>;
  /** Figures that are known only after all rounds. */
  conclude?(stage: Stage): Promise<Sample>;
}

/** Numbers by name. The result is the median of the rounds, or the sum for counts named in TOTALS. */
export type Sample = Record<string, number>;

export const TOTALS: ReadonlySet<string> = new Set(['events', 'lost', 'duplicates']);

export function median(values: number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length / 2;
  return ((sorted[Math.floor(middle - 0.5)] as number) + (sorted[Math.ceil(middle - 0.5)] as number)) / 2;
}

/** This figure cannot be measured here. The message says why. */
export class Skipped extends Error {}

/** Durations and sizes. Seconds are per round. */
export interface Plan {
  rounds: number;
  warmUpSeconds: number;
  seconds: number;
  connections: number;
  idleEvents: number;
  retryEvents: number;
  toxicBacklog: number;
  delayedEvents: number;
  failingEndpoints: number;
  failingSeconds: number;
  openPortals: number;
  portalEvents: number;
  portalSeconds: number;
  brokerEvents: number;
  firstSeconds: number;
  changeSeconds: number;
  storedDeliveries: number;
  soakSeconds: number;
  soakSlices: number;
  tailSlices: number;
  /** A minute, except in a smoke run. */
  sliceSeconds: number;
  settleSeconds: number;
  /** The directory of the service's CPU profile. */
  profileDir?: string;
}

/** Twelve minutes by the sum of its parts, of which one is the tail and three the neighbours in trouble. */
const DEFAULT: Plan = {
  rounds: 2,
  warmUpSeconds: 15,
  seconds: 5,
  connections: 128,
  idleEvents: 150,
  retryEvents: 400,
  toxicBacklog: 10_000,
  delayedEvents: 20_000,
  failingEndpoints: 10_000,
  failingSeconds: 25,
  openPortals: 200,
  portalEvents: 4_000,
  portalSeconds: 20,
  brokerEvents: 20_000,
  firstSeconds: 60,
  changeSeconds: 10,
  storedDeliveries: 0,
  soakSeconds: 0,
  soakSlices: 0,
  tailSlices: 1,
  sliceSeconds: 60,
  settleSeconds: 20,
};

const FULL: Plan = {
  ...DEFAULT,
  rounds: 4,
  failingSeconds: 30,
  portalSeconds: 30,
  toxicBacklog: 100_000,
  delayedEvents: 100_000,
  storedDeliveries: 10_000_000,
  soakSeconds: 1_800,
  soakSlices: 30,
  tailSlices: 10,
};

/** Proves that every part still works. It says nothing about speed. */
const SMOKE: Plan = {
  ...DEFAULT,
  rounds: 1,
  warmUpSeconds: 0.2,
  seconds: 0.5,
  connections: 16,
  idleEvents: 10,
  retryEvents: 20,
  toxicBacklog: 200,
  delayedEvents: 200,
  failingEndpoints: 200,
  failingSeconds: 1,
  openPortals: 10,
  portalEvents: 50,
  portalSeconds: 1,
  brokerEvents: 500,
  firstSeconds: 1,
  changeSeconds: 1,
  storedDeliveries: 20_000,
  soakSeconds: 2,
  soakSlices: 3,
  tailSlices: 2,
  sliceSeconds: 1,
  settleSeconds: 0.5,
};

export const PLANS = { default: DEFAULT, full: FULL, smoke: SMOKE };
