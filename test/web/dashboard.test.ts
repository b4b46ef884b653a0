import { afterAll, afterEach, beforeAll, describe, expect } from 'vitest';
import { needs } from '../support/suite/parts.ts';
import { awayTests } from './away.ts';
import { brokerFormTests } from './broker-form.ts';
import { editTests } from './edits.ts';
import { endpointFormTests } from './endpoint-form.ts';
import { foreignPageTests } from './foreign-page.ts';
import { formTests } from './forms.ts';
import { keyboardTests, listTests } from './lists.ts';
import { numberTests } from './numbers/numbers.ts';
import { pageTests } from './pages.ts';
import { peopleTests } from './people.ts';
import { putRightTests } from './put-right.ts';
import { roleTests } from './roles.ts';
import { signInTests } from './sign-in.ts';
import { makeWorld, type World } from './world.ts';

describe('the dashboard in a real Chromium', needs('chromium'), () => {
  let world: World;
  beforeAll(async () => {
    world = await makeWorld();
  });
  afterAll(() => world?.stop());
  afterEach(() => {
    expect(world.wrongs.splice(0)).toEqual([]);
  });

  pageTests(() => world);
  putRightTests(() => world);
  endpointFormTests(() => world);
  brokerFormTests(() => world);
  formTests(() => world);
  editTests(() => world);
  awayTests(() => world);
  listTests(() => world);
  keyboardTests(() => world);
  signInTests(() => world);
  peopleTests(() => world);
  roleTests(() => world);
  foreignPageTests(() => world);
  numberTests(() => world);
});
