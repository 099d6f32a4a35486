import * as z from 'zod'
import { SETTING_ROWS } from '../../src/sandbox/settings/flags.ts'
import { sandboxSettingsSchema } from '../../src/sandbox/settings/sandbox-schema.ts'
import { expectationOf, rowOf } from './strategy-tables.ts'

/** The settings of the sandbox as a table in Markdown: key, flag, type, default and meaning. */
export function sandboxTable(): string {
  const leaves = settingLeaves()
  const rows = SETTING_ROWS.map((row) => {
    const leaf = leaves.get(row.path)
    if (leaf === undefined) throw new Error(`no settings file has the key ${row.path}`)
    const byDefault = row.byDefault === '' ? '' : `\`${row.byDefault}\``
    return rowOf([`\`${row.path}\``, flagOf(row), expectationOf(leaf), byDefault, row.meaning])
  })
  return ['| key | flag | value | default | meaning |', '|---|---|---|---|---|', ...rows].join('\n')
}

function flagOf({ flag, entry }: (typeof SETTING_ROWS)[number]): string {
  return entry === undefined ? `\`${flag}\`` : `\`${flag} ${entry}=\``
}

/** The schema of each setting, by path: the whole settings file except its sections. */
export function settingLeaves(): ReadonlyMap<string, z.ZodType> {
  return new Map(leavesOf(sandboxSettingsSchema, []))
}

function leavesOf(schema: unknown, path: readonly string[]): (readonly [string, z.ZodType])[] {
  const core = schema instanceof z.ZodOptional ? schema.unwrap() : schema
  if (core instanceof z.ZodObject)
    return Object.entries(core.shape).flatMap(([key, field]) => leavesOf(field, [...path, key]))
  return core instanceof z.ZodType ? [[path.join('.'), core]] : []
}
