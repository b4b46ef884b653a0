import { DEFAULT_THEME, fontFamily, type Theme, themeVariables } from './theme.ts';

/** The theme that the server wrote into the document. */
export function themeOfDocument(): Theme {
  const content = document.querySelector<HTMLMetaElement>('meta[name=theme]')?.content ?? '';
  return content === '' ? DEFAULT_THEME : { ...DEFAULT_THEME, ...(JSON.parse(content) as Theme) };
}

/** Sets the theme of the whole document. The policy of the page allows no style in HTML, and this is not one. */
export function applyTheme(theme: Theme): void {
  const root = document.documentElement;
  for (const [name, value] of Object.entries(themeVariables(theme))) root.style.setProperty(name, value);
  root.style.fontFamily = fontFamily(theme);
  if (theme.color_scheme === 'auto') delete root.dataset['theme'];
  else root.dataset['theme'] = theme.color_scheme;
}
