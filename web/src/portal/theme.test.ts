import { describe, expect, it } from 'vitest';
import { contrast, themeVariables, withHostTheme } from './theme.ts';

const rgb = (hex: string) => [1, 3, 5].map((at) => Number.parseInt(hex.slice(at, at + 2), 16)) as never;

describe('the accent of a theme', () => {
  it.each(['#ffff00', '#000000', '#ffffff', '#3b5bdb', '#7f7f7f', '#00ff00'])(
    '%s can be read as text and as a ground, in light and dark',
    (accent) => {
      const variables = themeVariables({ accent, radius: 4 });
      const pair = (name: string) => variables[name]?.match(/#[0-9a-f]{6}/g) ?? [];
      const [light = '', dark = ''] = pair('--color-accent');
      expect(contrast(rgb(light), rgb('#ffffff'))).toBeGreaterThanOrEqual(4.5);
      expect(contrast(rgb(dark), rgb('#101214'))).toBeGreaterThanOrEqual(4.5);
      const on = pair('--color-on-accent');
      for (const [at, ground] of pair('--color-accent-ground').entries())
        expect(contrast(rgb(ground), rgb(on[at] ?? ''))).toBeGreaterThanOrEqual(4.5);
    },
  );
});

describe('a theme of the host', () => {
  const theme = {
    title: 'T',
    logo_url: '',
    logo_url_dark: '',
    font: '',
    accent: '#112233',
    radius: 5,
    color_scheme: 'auto',
    language: '',
    frame_origins: [],
  } as const;

  it('changes colours, corners, font and language only', () => {
    const looks = { accent: '#445566', radius: 0, font: 'Inter, serif', language: 'de' };
    const given = { ...looks, title: 'evil', frame_origins: ['*'] };
    expect(withHostTheme(theme, given)).toEqual({ ...theme, ...looks });
  });

  it.each([null, 'x', { accent: 'url(x)', radius: 99, font: 'a;b', color_scheme: 1, language: '../x' }])(
    'is ignored where it is not one: %j',
    (given) => {
      expect(withHostTheme(theme, given)).toEqual(theme);
    },
  );
});
