import { afterAll, afterEach, beforeAll, describe, expect } from 'vitest';
import { needs } from '../support/suite/parts.ts';
import { breakerTests } from './breaker-moments.ts';
import { momentTests } from './moments.ts';
import { referenceTests } from './reference.ts';
import { makeWorld, type World } from './world.ts';

/** The main ways through the dashboard. `npm test` has them where there is a browser. */
describe('the dashboard in a real Chromium', needs('chromium'), () => {
  let world: World;
  beforeAll(async () => {
    world = await makeWorld();
  });
  afterAll(() => world?.stop());
  afterEach(() => {
    expect(world.wrongs.splice(0)).toEqual([]);
  });

  momentTests(() => world);
  breakerTests(() => world);
  // The last: it leaves the dashboard.
  referenceTests(() => world);
});
