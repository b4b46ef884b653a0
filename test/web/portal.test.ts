import { afterAll, beforeAll, describe } from 'vitest';
import { needs } from '../support/suite/parts.ts';
import { portalBrokerTests } from './portal/brokers.ts';
import { portalEditTests } from './portal/edits.ts';
import { portalEmbedTests } from './portal/embed.ts';
import { portalHealthTests } from './portal/health.ts';
import { portalLinkTests } from './portal/links.ts';
import { portalMomentTests } from './portal/moments.ts';
import { portalPageTests } from './portal/pages.ts';
import { makePortalWorld, type PortalWorld } from './portal/world.ts';

describe('the portal in a real Chromium', needs('chromium'), () => {
  let world: PortalWorld;
  beforeAll(async () => {
    world = await makePortalWorld();
  });
  afterAll(() => world?.stop());

  portalPageTests(() => world);
  portalHealthTests(() => world);
  portalBrokerTests(() => world);
  portalMomentTests(() => world);
  portalEditTests(() => world);
  portalLinkTests(() => world);
  portalEmbedTests(() => world);
});
