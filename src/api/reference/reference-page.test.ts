import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { OpenApiDocument } from './document.ts';
import { referencePage } from './reference-page.ts';

const URL = 'http://127.0.0.1:5005';
const document = JSON.parse(
  readFileSync(join(import.meta.dirname, '../../../openapi.json'), 'utf8'),
) as OpenApiDocument;
const operations = Object.values(document.paths)
  .flatMap((methods) => Object.values(methods))
  .filter(({ tags }) => tags?.[0] !== 'Portal');

describe('referencePage', () => {
  const page = referencePage(document, URL);

  it('has a section with a request to copy for every operation', () => {
    expect(operations.length).toBeGreaterThan(80);
    for (const { operationId } of operations) {
      const section = page.split(`<section id="${operationId}">`)[1]?.split('</section>')[0] ?? '';
      expect(section, operationId).toContain('<pre><code>curl -s');
    }
  });

  it('has a section for every schema that it links to', () => {
    const targets = new Set([...page.matchAll(/href="#([^"]+)"/g)].map((match) => match[1]));
    const missing = [...targets].filter((target) => !page.includes(`id="${target}"`));
    expect(missing).toEqual([]);
  });

  it('has no script and loads nothing from another host', () => {
    expect(page).not.toMatch(/<script|\son\w+=|(?:src|<link[^>]*href)="https?:/);
  });

  it('shows hostile text as text', () => {
    const hostile = structuredClone(document);
    const route = hostile.paths['/api/v1/projects']?.['get'];
    if (route !== undefined) route.summary = '<script>alert("1")</script>';
    expect(referencePage(hostile, URL)).toContain('&#60;script&#62;alert(&#34;1&#34;)&#60;/script&#62;');
    expect(referencePage(hostile, URL)).not.toContain('<script>');
  });
});
