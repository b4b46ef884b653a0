/**
 * Calls that wait for a sandbox process, shared fairly among tenants.
 *
 * Each tenant has a meter of the milliseconds it was served. The tenant with the lowest meter and a call that
 * may run now is next. A tenant that was idle starts level with the tenant served last, so it cannot save up
 * credit. Time spent on runs that fail counts twice. The functions of a tenant take turns. A batch has calls
 * of one function, as many as are expected to end within a few milliseconds. An unproven or slow function
 * goes one call at a time.
 *
 * Processes have roles. `quick` takes only proven functions (run-times.ts). `general` takes every function.
 * Neither takes suspects (suspects.ts), which run in the role `suspect`.
 *
 * The queue is bounded by calls and bytes, a single tenant by half of each.
 */
import type { FunctionResult } from './contract.ts';
import type { WorkerCall } from './protocol.ts';
import type { RunTimes } from './run-times.ts';
import type { Suspects } from './suspects.ts';

export type Role = 'quick' | 'general' | 'suspect';

export interface QueuedCall {
  call: WorkerCall;
  settle(result: FunctionResult): void;
  /** How many processes ended while they had this call. */
  losses: number;
}

export interface CallBatch {
  tenant: string;
  functionKey: string;
  expectedMs: number;
  calls: QueuedCall[];
}

interface Tenant {
  servedMs: number;
  waitingCalls: number;
  waitingBytes: number;
  functions: Map<string, QueuedCall[]>;
}

const batchMs = 4;
const batchCalls = 64;
const batchBytes = 1024 * 1024;
const rememberedTenants = 1_000;

/** In UTF-16 units, which is the size in memory within a factor of two. */
const bytesOf = ({ call }: QueuedCall) => call.input.length + call.code.length + (call.context?.length ?? 0);

export class CallQueue {
  readonly #limits: { calls: number; bytes: number };
  readonly #times: RunTimes;
  readonly #suspects: Suspects;
  readonly #tenants = new Map<string, Tenant>();
  #lastServedMs = 0;
  #waitingCalls = 0;
  #waitingBytes = 0;

  constructor(limits: { calls: number; bytes: number }, times: RunTimes, suspects: Suspects) {
    this.#limits = limits;
    this.#times = times;
    this.#suspects = suspects;
  }

  get waitingCalls(): number {
    return this.#waitingCalls;
  }

  /** False when the queue, or the tenant's half of it, is full. */
  add(queued: QueuedCall): boolean {
    const tenant = this.#tenant(queued.call.tenant);
    const bytes = bytesOf(queued);
    const { calls: maxCalls, bytes: maxBytes } = this.#limits;
    if (this.#waitingCalls + 1 > maxCalls || this.#waitingBytes + bytes > maxBytes) return false;
    if (tenant.waitingCalls + 1 > maxCalls / 2 || tenant.waitingBytes + bytes > maxBytes / 2) return false;
    if (tenant.waitingCalls === 0) tenant.servedMs = Math.max(tenant.servedMs, this.#lastServedMs);
    this.#line(tenant, queued).push(queued);
    this.#count(tenant, 1, bytes);
    return true;
  }

  /** To the front and past the bounds, because these calls were accepted before. */
  putBack(calls: QueuedCall[]): void {
    for (const queued of calls.toReversed()) {
      const tenant = this.#tenant(queued.call.tenant);
      this.#line(tenant, queued).unshift(queued);
      this.#count(tenant, 1, bytesOf(queued));
    }
  }

  take(role: Role): CallBatch | undefined {
    const next = this.#next(role);
    if (next === undefined) return undefined;
    const { name, tenant, functionKey } = next;
    this.#lastServedMs = Math.max(this.#lastServedMs, tenant.servedMs);
    const calls = this.#takeBatch(tenant, functionKey);
    const expectedMs = calls.length * this.#times.expectedMs(functionKey);
    tenant.servedMs += expectedMs;
    return { tenant: name, functionKey, expectedMs, calls };
  }

  hasWorkFor(role: Role): boolean {
    return this.#waitingCalls > 0 && this.#next(role) !== undefined;
  }

  /** Replaces the expected time with the measured time. Time spent on failed calls counts twice. */
  charge(batch: CallBatch, tookMs: number, failedCalls: number): void {
    const tenant = this.#tenant(batch.tenant);
    tenant.servedMs += tookMs * (1 + failedCalls / batch.calls.length) - batch.expectedMs;
  }

  takeAll(): QueuedCall[] {
    const all = [...this.#tenants.values()].flatMap((tenant) => [...tenant.functions.values()].flat());
    this.#tenants.clear();
    this.#waitingCalls = 0;
    this.#waitingBytes = 0;
    return all;
  }

  #next(role: Role): { name: string; tenant: Tenant; functionKey: string } | undefined {
    let next: { name: string; tenant: Tenant; functionKey: string } | undefined;
    for (const [name, tenant] of this.#tenants) {
      if (tenant.waitingCalls === 0 || (next !== undefined && next.tenant.servedMs <= tenant.servedMs))
        continue;
      const isSuspect = this.#suspects.has(name);
      for (const functionKey of tenant.functions.keys()) {
        const isProven = this.#times.isProven(functionKey);
        if (role === 'quick' && !isProven) continue;
        const needsOwn = isSuspect && (!isProven || this.#suspects.has(functionKey));
        if (needsOwn !== (role === 'suspect')) continue;
        next = { name, tenant, functionKey };
        break;
      }
    }
    return next;
  }

  #takeBatch(tenant: Tenant, functionKey: string): QueuedCall[] {
    const line = tenant.functions.get(functionKey) ?? [];
    const most = this.#times.isQuick(functionKey)
      ? Math.min(batchCalls, Math.max(1, Math.floor(batchMs / this.#times.expectedMs(functionKey))))
      : 1;
    let count = 0;
    let bytes = 0;
    for (const queued of line.slice(0, most)) {
      const fits = count === 0 || (bytes + bytesOf(queued) <= batchBytes && queued.losses === 0);
      if (!fits) break;
      count += 1;
      bytes += bytesOf(queued);
      if (queued.losses > 0) break;
    }
    const taken = line.splice(0, count);
    this.#count(tenant, -count, -bytes);
    tenant.functions.delete(functionKey);
    if (line.length > 0) tenant.functions.set(functionKey, line);
    return taken;
  }

  #line(tenant: Tenant, queued: QueuedCall): QueuedCall[] {
    const functionKey = functionKeyOf(queued.call);
    const line = tenant.functions.get(functionKey) ?? [];
    tenant.functions.set(functionKey, line);
    return line;
  }

  #count(tenant: Tenant, calls: number, bytes: number): void {
    tenant.waitingCalls += calls;
    tenant.waitingBytes += bytes;
    this.#waitingCalls += calls;
    this.#waitingBytes += bytes;
  }

  #tenant(name: string): Tenant {
    const known = this.#tenants.get(name);
    if (known !== undefined) return known;
    if (this.#tenants.size >= rememberedTenants) this.#forgetIdle();
    const tenant = { servedMs: this.#lastServedMs, waitingCalls: 0, waitingBytes: 0, functions: new Map() };
    this.#tenants.set(name, tenant);
    return tenant;
  }

  #forgetIdle(): void {
    for (const [name, tenant] of this.#tenants) if (tenant.waitingCalls === 0) this.#tenants.delete(name);
  }
}

export function functionKeyOf(call: WorkerCall): string {
  return JSON.stringify([call.tenant, call.version, call.kind]);
}
