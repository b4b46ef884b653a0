import type { Project } from 'posthorn-client';
import { languages } from '../../portal/load-words.ts';
import { SelectField, TextArea, TextField } from '../../ui/controls/fields.tsx';

type Theme = Project['config']['portal'];

const nameOf = (language: string): string =>
  new Intl.DisplayNames(['en'], { type: 'language' }).of(language) ?? language;

interface Props {
  theme: Theme;
  onChange(patch: Partial<Theme>): void;
}

export function ThemeFields({ theme, onChange }: Props) {
  return (
    <div className="grid content-start gap-4">
      <TextField
        label="Title"
        maxLength={64}
        value={theme.title}
        onChange={(event) => onChange({ title: event.target.value })}
        hint="Optional. Defaults to Webhooks."
      />
      <TextField
        label="Logo"
        type="url"
        placeholder="https://example.com/logo.svg"
        value={theme.logo_url}
        onChange={(event) => onChange({ logo_url: event.target.value })}
        hint="An https URL. The preview does not load it."
      />
      <TextField
        label="Logo in dark mode"
        type="url"
        value={theme.logo_url_dark}
        onChange={(event) => onChange({ logo_url_dark: event.target.value })}
        hint="Optional. Defaults to the logo above."
      />
      <TextField
        label="Font"
        maxLength={128}
        pattern="[A-Za-z0-9 _,\-]*"
        placeholder="Georgia, serif"
        value={theme.font}
        onChange={(event) => onChange({ font: event.target.value })}
        hint="Fonts of the reader’s device. Defaults to Inter."
      />
      <TextField
        label="Accent colour"
        pattern="#[0-9a-fA-F]{6}"
        placeholder="#3b5bdb"
        value={theme.accent}
        onChange={(event) => onChange({ accent: event.target.value.trim() })}
        hint="Made darker or lighter where text in it could not be read."
      />
      <TextField
        label="Corner radius (px)"
        type="number"
        min="0"
        max="16"
        value={theme.radius}
        onChange={(event) => onChange({ radius: Number(event.target.value) })}
      />
      <SelectField
        label="Colour scheme"
        value={theme.color_scheme}
        onChange={(event) => onChange({ color_scheme: event.target.value as Theme['color_scheme'] })}
        choices={[
          ['auto', 'As the reader’s system'],
          ['light', 'Light'],
          ['dark', 'Dark'],
        ]}
      />
      <SelectField
        label="Language"
        value={theme.language}
        onChange={(event) => onChange({ language: event.target.value })}
        choices={[['', 'As the reader’s browser'], ...languages.map((one) => [one, nameOf(one)] as const)]}
      />
      <TextArea
        label="Origins that may embed it"
        rows={3}
        placeholder="https://app.example.com"
        defaultValue={theme.frame_origins.join('\n')}
        onChange={(event) =>
          onChange({ frame_origins: event.target.value.split(/\s+/).filter((origin) => origin !== '') })
        }
        hint="One per line. Empty: no page may embed it."
      />
    </div>
  );
}
