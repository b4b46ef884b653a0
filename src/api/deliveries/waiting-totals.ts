import type { Static } from 'typebox';
import { type DeliveryGate, deliveryGates } from '../../domain/delivery.ts';
import { Type } from '../../platform/type.ts';

const gates = Object.fromEntries(deliveryGates.map((gate) => [gate, Type.Integer()] as const));

export const WaitingTotals = Type.Object(gates);

export const CountedTotals = Type.Object({
  ...gates,
  complete: Type.Boolean({
    description:
      'Whether all open deliveries were counted. If not, a part of each endpoint was, and the counts are lower bounds.',
  }),
});

/** Open deliveries by what they wait for. */
export function waitingTotals(
  rows: readonly { gate: DeliveryGate; count: number }[],
): Static<typeof WaitingTotals> {
  const totals = Object.fromEntries(deliveryGates.map((gate) => [gate, 0]));
  for (const { gate, count } of rows) totals[gate] = (totals[gate] ?? 0) + count;
  return totals;
}
