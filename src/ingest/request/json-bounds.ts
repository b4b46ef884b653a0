import { AppError } from '../../domain/errors.ts';
import { type Excess, excessInSlices, excessOf, type JsonBounds } from '../../platform/json/json-shape.ts';

const CODES = { depth: 'too_deep', names: 'too_many_names' } as const satisfies Record<Excess, string>;

/** Refuses JSON by its depth or the number of its names, before it is parsed. */
export async function refuseExcessInSlices(json: Buffer, bounds: JsonBounds): Promise<void> {
  const excess = await excessInSlices(json, bounds);
  if (excess !== undefined) throw excessError(excess, bounds);
}

/** In one turn of the event loop: for small JSON. */
export function refuseExcess(json: Buffer, bounds: JsonBounds): void {
  const excess = excessOf(json, bounds);
  if (excess !== undefined) throw excessError(excess, bounds);
}

export const excessError = (excess: Excess, bounds: JsonBounds): AppError =>
  new AppError(CODES[excess], { limit: bounds[excess] });
