import { type SettingRow, TABLE } from './table.ts'

/** Path of a setting in the settings file. */
export type SettingPath = (typeof TABLE)[number]['path']

type Setting = SettingRow & { readonly flag: `--${string}`; readonly byDefault: string }

/**
 * Every setting of the sandbox: the source of the flags of `tranched sandbox`, the leaves of its settings file and the table in
 * docs/sandbox.md. Imports no package, because each start of the program reads the flags.
 */
export const SETTING_ROWS: readonly Setting[] = TABLE.map((row: SettingRow) => ({
  ...row,
  flag: row.flag ?? flagOf(row.path),
  byDefault: row.byDefault ?? '',
}))

function flagOf(path: string): `--${string}` {
  const words = path.replace(/^(?:gasless|market)\./, '').replaceAll('.', '-')
  return `--${words.replace(/[A-Z]+/g, (capitals) => `-${capitals.toLowerCase()}`)}`
}

export type TypedFlag = { readonly flag: string; readonly text: string }

/** Each flag once, in the order of the table; `section` is the first key of the path, or empty. */
export function settingFlags() {
  const first = SETTING_ROWS.filter(
    ({ flag }, index) => SETTING_ROWS.findIndex((row) => row.flag === flag) === index,
  )
  return first.map((row) => {
    const { flag, value, path } = row
    return { flag, value, section: /^(.*?)\./.exec(path)?.[1] ?? '', help: helpOf(row) }
  })
}

function helpOf(row: Setting): string {
  const meaning = row.entry === undefined ? lowerFirst(row.meaning) : sharedHelp(row)
  return row.byDefault === '' ? meaning : `${meaning} (default: ${row.byDefault})`
}

function sharedHelp({ flag, entry, byDefault }: Setting): string {
  const entries = SETTING_ROWS.filter((row) => row.flag === flag).map((row) => row.entry)
  return `such as ${entry}=${byDefault}; once for each of ${entries.join(', ')}`
}

/** Help texts begin in lower case, except for names in backticks or capitals. */
function lowerFirst(text: string): string {
  return /^[A-Z][a-z]/.test(text) ? text.charAt(0).toLowerCase() + text.slice(1) : text
}

export function meaningOf(path: SettingPath): string {
  return SETTING_ROWS.find((row) => row.path === path)?.meaning ?? ''
}
