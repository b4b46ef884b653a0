import type { Fault } from '../fault-injector.ts';
import type { Receipt } from '../receiver/chaos-receiver.ts';

/** Times as seconds since the first entry of the schedule, like those of the faults. */
export function showTime(at: number, { faults }: { faults: Fault[] }): string {
  return `${((at - (faults[0]?.from ?? 0)) / 1000).toFixed(2)} s`;
}

export function showReceipt(receipt: Receipt, run: { faults: Fault[] }): string {
  const { character, sender, at, isAcknowledged } = receipt;
  return `${showTime(at, run)} at ${character} by ${sender.pid}${isAcknowledged ? ', acknowledged' : ''}`;
}
