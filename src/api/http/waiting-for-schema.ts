import { oneOf, Type } from '../../platform/type.ts';
import { NullableTime } from './fields.ts';

/** Why an open delivery or event waits. */
export const waitingForSchema = <Gate extends string>(gates: readonly Gate[]) =>
  Type.Union([Type.Object({ gate: oneOf(gates), until: NullableTime }), Type.Null()], {
    description: 'Why it waits, and until when if that is known; null if it does not wait.',
  });
