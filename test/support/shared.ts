import { afterAll } from 'vitest';

/** Starts a thing at the top of a test file for all of its tests, and stops it after the last one. */
export async function shared<T extends { stop(): Promise<void> }>(starting: Promise<T>): Promise<T> {
  const thing = await starting;
  afterAll(() => thing.stop());
  return thing;
}
