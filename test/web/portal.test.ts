import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { chromiumPath, isWholeSuite, NO_CHROMIUM } from './browser.ts';
import { portalEmbedTests } from './portal-embed.ts';
import { portalLinkTests } from './portal-links.ts';
import { portalMomentTests } from './portal-moments.ts';
import { portalPageTests } from './portal-pages.ts';
import { makePortalWorld, type PortalWorld } from './portal-world.ts';

it.runIf(chromiumPath === null && isWholeSuite)('the whole suite has a Chromium', () => {
  expect.fail(NO_CHROMIUM);
});

describe.skipIf(chromiumPath === null)('the portal in a real Chromium', () => {
  let world: PortalWorld;
  beforeAll(async () => {
    world = await makePortalWorld();
  });
  afterAll(() => world?.stop());

  portalPageTests(() => world);
  portalMomentTests(() => world);
  portalLinkTests(() => world);
  portalEmbedTests(() => world);
});
