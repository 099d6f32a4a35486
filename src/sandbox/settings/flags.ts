import { AGGREGATOR_SETTINGS } from './table/aggregator.ts'
import { GASLESS_SETTINGS } from './table/gasless.ts'
import { GENERAL_SETTINGS } from './table/general.ts'
import type { SettingRow } from './table/row.ts'

const ROWS = [...GENERAL_SETTINGS, ...GASLESS_SETTINGS, ...AGGREGATOR_SETTINGS] as const

/** Path of a setting in the settings file. */
export type SettingPath = (typeof ROWS)[number]['path']

/**
 * Every setting of the sandbox, once: the flags of `tranched sandbox`, the leaves of its settings file and the table in
 * docs/sandbox.md all come from here. Loads no package, because each start of the program reads the flags.
 */
export const SETTING_ROWS: readonly SettingRow[] = ROWS

/** A flag as it was typed. */
export type TypedFlag = { readonly flag: string; readonly text: string }

/** A flag for the help; settings that share one are told apart by a word in its value. */
export type SettingFlag = Pick<SettingRow, 'flag' | 'value'> & {
  /** First key of the path of a setting in a section; empty for one without. */
  readonly section: string
  readonly help: string
}

/** Each flag once, in the order of the table. */
export function settingFlags(): readonly SettingFlag[] {
  const flags = new Map<string, SettingFlag>()
  for (const row of SETTING_ROWS)
    if (!flags.has(row.flag)) {
      const { flag, value } = row
      flags.set(flag, { flag, value, section: sectionOf(row), help: helpOf(row) })
    }
  return [...flags.values()]
}

function sectionOf({ path }: SettingRow): string {
  return path.includes('.') ? (path.split('.')[0] ?? '') : ''
}

function helpOf(row: SettingRow): string {
  const meaning = row.entry === undefined ? lowerFirst(row.meaning) : sharedHelp(row)
  return row.byDefault === '' ? meaning : `${meaning} (default: ${row.byDefault})`
}

function sharedHelp({ flag, entry, byDefault }: SettingRow): string {
  const entries = SETTING_ROWS.filter((row) => row.flag === flag).map((row) => row.entry)
  return `such as ${entry}=${byDefault}; once for each of ${entries.join(', ')}`
}

/** Help texts begin small; a name in backticks or capitals stays as it is. */
function lowerFirst(text: string): string {
  return /^[A-Z][a-z]/.test(text) ? text.charAt(0).toLowerCase() + text.slice(1) : text
}

/** Meaning of the setting at a path. */
export function meaningOf(path: SettingPath): string {
  return SETTING_ROWS.find((row) => row.path === path)?.meaning ?? ''
}
