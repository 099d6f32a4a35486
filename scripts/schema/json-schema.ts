import * as z from 'zod'
import { settingsSchema } from '../../src/config/settings/schema.ts'
import { strategyKinds } from '../../src/config/strategies/schema.ts'

/** JSON Schemas for editors, by file name: of the config file, and of a strategy file of any kind. */
export function jsonSchemas(): Readonly<Record<string, unknown>> {
  const kinds = Object.values(strategyKinds).map(({ schema }) => jsonSchema(schema))
  return {
    'config.json': { ...DIALECT, title: 'tranched config', ...jsonSchema(settingsSchema) },
    'strategy.json': { ...DIALECT, title: 'tranched strategy', anyOf: kinds },
  }
}

const DIALECT = { $schema: 'https://json-schema.org/draft/2020-12/schema' }

/** What a person writes, before defaults: those are texts of the schema and would be shown as such, so they are left out. */
function jsonSchema(schema: z.ZodType): object {
  const { $schema: _, ...made } = z.toJSONSchema(schema, {
    io: 'input',
    override: ({ jsonSchema: node }) => {
      delete node.default
    },
  })
  return made
}
