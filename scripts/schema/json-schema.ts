import * as z from 'zod'
import { filePath } from '../../src/config/scalars.ts'
import { settingsSchema } from '../../src/config/settings/settings-schema.ts'
import { faultsSchema } from '../../src/sandbox/faults.ts'
import { sandboxSettingsSchema } from '../../src/sandbox/settings/sandbox-schema.ts'
import { TABLE } from '../../src/sandbox/settings/table.ts'
import { SCHEMAS } from '../../src/strategies/schemas.ts'
import { outputSchemas } from './output-tables.ts'

/**
 * JSON Schemas by file name: for editors, of the config file, a strategy file of any kind, and a sandbox's settings
 * file; for scripts, of the commands' output.
 */
export function jsonSchemas(): Readonly<Record<string, unknown>> {
  const kinds = Object.values(SCHEMAS).map(({ schema }) => jsonSchema(schema))
  return {
    'config.json': { ...DIALECT, title: 'tranched config', ...jsonSchema(settingsSchema) },
    'strategy.json': { ...DIALECT, title: 'tranched strategy', anyOf: kinds },
    'sandbox-settings.json': {
      ...DIALECT,
      title: 'tranched sandbox settings',
      ...jsonSchema(sandboxSettings),
    },
    'commands.json': { ...DIALECT, ...outputSchemas() },
  }
}

/** Faults are parsed in a separate step, which the schema of a settings file does not cover. */
const sandboxSettings = sandboxSettingsSchema.extend({
  faults: z.union([filePath(), faultsSchema]).optional().describe(TABLE.faults[2]),
})

const DIALECT = { $schema: 'https://json-schema.org/draft/2020-12/schema' }

/**
 * Input as a person writes it, before defaults: defaults are texts of the schema and would be shown as such, so they
 * are left out.
 */
function jsonSchema(schema: z.ZodType): object {
  const { $schema: _, ...made } = z.toJSONSchema(schema, {
    io: 'input',
    override: ({ jsonSchema: node }) => {
      delete node.default
    },
  })
  return made
}
