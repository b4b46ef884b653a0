import { Type } from 'typebox';
import { NullableTime, oneOf } from './fields.ts';

/** What holds something back that is not over yet. */
export const waitingForSchema = <Gate extends string>(gates: readonly Gate[]) =>
  Type.Union([Type.Object({ gate: oneOf(gates), until: NullableTime }), Type.Null()], {
    description: 'What it waits for, and until when where that is known; null: for nothing.',
  });
