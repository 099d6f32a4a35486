import * as z from 'zod'
import { settingsSchema } from '../../src/config/settings/settings-schema.ts'
import { coreOf, tableOf } from './strategy-tables.ts'

/**
 * Tables of the config file's keys in Markdown: `general` for top-level keys, then one for each section by its name.
 */
export function configTables(): Readonly<Record<string, string>> {
  const fields = Object.entries(settingsSchema.shape)
  const alone = fields.filter(([, field]) => !hasFields(field))
  const sections = fields.filter(([, field]) => hasFields(field))
  return {
    general: tableOf(Object.fromEntries(alone)),
    ...Object.fromEntries(sections.map(([name, field]) => [name, tableOf({ [name]: field })])),
  }
}

function hasFields(field: z.ZodType): boolean {
  const core = coreOf(field)
  return core instanceof z.ZodObject || core instanceof z.ZodRecord
}
