import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { OpenApiDocument } from './document.ts';
import { ReferenceSite } from './reference-site.ts';
import { titleOf } from './site-map.ts';

const ROOT = join(import.meta.dirname, '../../..');
const document = JSON.parse(readFileSync(join(ROOT, 'openapi.json'), 'utf8')) as OpenApiDocument;
const operations = Object.values(document.paths).flatMap((methods) => Object.values(methods));
const schemas = Object.keys(document.components?.schemas ?? {});

const site = new ReferenceSite(document);
const addressOf = (slug: string) => (slug === '' ? '/docs' : `/docs/${slug}`);
const pages = new Map(site.slugs.map((slug) => [addressOf(slug), site.page(slug) ?? '']));
const idsOf = (page: string) => [...page.matchAll(/\sid="([^"]+)"/g)].map(([, id = '']) => id);
const places = new Set(
  [...pages].flatMap(([address, page]) => [address, ...idsOf(page).map((id) => `${address}#${id}`)]),
);
const items = JSON.parse(site.search) as { title: string; kind: string; words: string; href: string }[];

describe('the reference', () => {
  it('has a page for every tag, and each operation on exactly one of them', () => {
    expect(pages.size).toBe(new Set(operations.map(({ tags }) => tags?.[0])).size + 1);
    expect(operations.length).toBeGreaterThan(180);
    const ofResources = [...pages].filter(([address]) => address !== '/docs');
    for (const { operationId } of operations)
      expect(
        ofResources.filter(([, page]) => idsOf(page).includes(operationId)),
        operationId,
      ).toHaveLength(1);
  });

  it('has a request to copy for every operation that does not repeat another', () => {
    const text = [...pages.values()].join('');
    for (const { operationId } of operations.filter((one) => !one.operationId.endsWith('InPortal'))) {
      const section = text.split(`<section id="${operationId}"`)[1]?.split('</section>')[0] ?? '';
      expect(section, operationId).toContain('<code>curl -s');
    }
  });

  it('lists every operation on the start page, under the id that its link had on one page', () => {
    const start = pages.get('/docs') ?? '';
    const own = operations.filter(({ tags }) => tags?.[0] !== 'Portal');
    expect(idsOf(start)).toEqual(expect.arrayContaining(own.map(({ operationId }) => operationId)));
  });

  it('links only to places that are there, and has no id twice', () => {
    for (const [address, page] of pages) {
      const links = [...page.matchAll(/href="([^"]+)"/g)].map(([, href = '']) =>
        href.replace(/^(?=#)/, address),
      );
      const missing = links.filter((link) => link.startsWith('/docs') && !places.has(link));
      expect([address, missing]).toEqual([address, ['/docs/reference.css']]);
      const ids = idsOf(page);
      expect([address, ids.filter((id, i) => ids.indexOf(id) !== i)]).toEqual([address, []]);
    }
  });

  it('has pages that load at once: the start below 150 kB, and so are all others', () => {
    for (const [address, page] of pages)
      expect([address, Buffer.byteLength(page) < 150_000]).toEqual([address, true]);
  });

  it('has every operation and every schema in its search, at a place that is there', () => {
    const ids = items.filter(({ kind }) => kind !== 'schema').map(({ words }) => words.replace(/ .*/, ''));
    expect(ids.toSorted()).toEqual(operations.map(({ operationId }) => operationId).toSorted());
    const names = items.filter(({ kind }) => kind === 'schema').map(({ title }) => title);
    expect(names.toSorted()).toEqual(schemas.toSorted());
    expect(items.filter(({ href }) => !places.has(href))).toEqual([]);
  });

  it('describes a resource on its own page, and a body at its operation', () => {
    const placeOf = (name: string) => items.find(({ title }) => title === name)?.href;
    expect(placeOf('Job')).toBe('/docs/jobs#schema-Job');
    expect(placeOf('CreateEndpoint')).toBe('/docs/endpoints#createEndpoint-body');
    expect(placeOf('Pagination')).toBe('/docs#schema-Pagination');
  });

  it('has short titles in its menu', () => {
    expect(titleOf('sendNowEventDeliveries')).toBe('Send now event deliveries');
    expect(titleOf('testOAuth2')).toBe('Test OAuth2');
    expect(titleOf('updateFiltersByPost')).toBe('Update filters by POST');
    const longest = operations.map(({ operationId }) => titleOf(operationId).length);
    expect(Math.max(...longest)).toBeLessThan(50);
  });

  it('shows requests and responses as they are in a real run', () => {
    const sectionOf = (slug: string, id: string) =>
      (site.page(slug) ?? '').split(`<section id="${id}"`)[1] ?? '';
    const revoke = sectionOf('keys', 'revokeKey');
    expect(revoke).toContain('/keys/$key_id"');
    expect(revoke).toContain('Needs the role admin. Refuses unknown parameters and fields.');
    expect(revoke).toMatch(/\{\n {2}"status": true,\n {2}"message": "[^"]+",\n {2}"data": null\n\}/);
    expect(sectionOf('endpoints', 'createEndpoint')).toContain('"authentication": null');
    const madeUp = [...pages.values()].join('').match(/"\w+": "text"/g) ?? [];
    expect(madeUp, 'fields without a recorded response; CONTRIBUTING.md says how to record').toEqual([]);
  });

  it('has a page for what is not there, with a way back', () => {
    expect(site.page('nonsense')).toBeUndefined();
    expect(site.missing).toContain('<a href="/docs">The start page</a>');
  });

  it('has nothing inline and nothing of another host; its script only if that is built', () => {
    const built = new ReferenceSite(document, '/assets/reference-1.js').page('endpoints') ?? '';
    expect([...built.matchAll(/<script[^>]*>/g)].map(([tag]) => tag)).toEqual([
      '<script type="module" blocking="render" src="/assets/reference-1.js">',
    ]);
    for (const page of [...pages.values(), site.missing])
      expect(page).not.toMatch(/<script|<style|\s(?:on\w+|style)=|(?:src|<link[^>]*href)="https?:/);
  });

  it('shows hostile text as text', () => {
    const hostile = structuredClone(document);
    const route = hostile.paths['/api/v1/projects']?.['get'];
    if (route !== undefined) route.summary = '<script>alert("1")</script>';
    const page = new ReferenceSite(hostile).page('projects');
    expect(page).toContain('&#60;script&#62;alert(&#34;1&#34;)&#60;/script&#62;');
    expect(page).not.toContain('<script>');
  });
});

it('the styles have the colours and typefaces of the dashboard', () => {
  const tokensOf = (path: string): Map<string, string> => {
    const css = readFileSync(join(ROOT, path), 'utf8');
    const found = css.matchAll(/^ {2}(--(?:color|font)-\w[\w-]*):\s*([^;]+);/gm);
    return new Map([...found].map(([, name = '', value = '']) => [name, value]));
  };
  const ours = tokensOf('src/api/reference/reference.css');
  const theirs = tokensOf('web/src/app/styles.css');
  expect(ours.size).toBeGreaterThan(10);
  for (const [name, value] of ours) expect([name, value]).toEqual([name, theirs.get(name)]);
});
