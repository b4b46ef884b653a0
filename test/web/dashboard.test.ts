import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { chromiumPath, isWholeSuite, NO_CHROMIUM } from './browser.ts';
import { endpointFormTests } from './endpoint-form.ts';
import { listTests } from './lists.ts';
import { momentTests } from './moments.ts';
import { pageTests } from './pages.ts';
import { peopleTests } from './people.ts';
import { putRightTests } from './put-right.ts';
import { roleTests } from './roles.ts';
import { signInTests } from './sign-in.ts';
import { makeWorld, type World } from './world.ts';

it.runIf(chromiumPath === null && isWholeSuite)('the whole suite has a Chromium', () => {
  expect.fail(NO_CHROMIUM);
});

describe.skipIf(chromiumPath === null)('the dashboard in a real Chromium', () => {
  let world: World;
  beforeAll(async () => {
    world = await makeWorld();
  });
  afterAll(() => world?.stop());
  afterEach(() => {
    expect(world.wrongs.splice(0)).toEqual([]);
  });

  pageTests(() => world);
  momentTests(() => world);
  putRightTests(() => world);
  endpointFormTests(() => world);
  listTests(() => world);
  signInTests(() => world);
  peopleTests(() => world);
  roleTests(() => world);
});
