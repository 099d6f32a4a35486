import { expect } from 'vitest'
import { OUTPUTS } from '../../src/cli/json/outputs.ts'
import { type FailureData, failure } from '../../src/cli/json/shapes.ts'

/** The command name at the start of a line: a subcommand's rather than its parent's. */
export function commandOf(line: string): string | undefined {
  return Object.keys(OUTPUTS)
    .filter((command) => `${line} `.startsWith(`${command} `))
    .toSorted((a, b) => a.length - b.length)
    .at(-1)
}

/**
 * Output of a command under `--json`, checked strictly against its schemas; a failure alone does not count. The line
 * may continue after the command name.
 */
export function outputOf<Data>(line: string, printed: string): Data {
  const command = commandOf(line) ?? ''
  const shapes = Object.values(OUTPUTS[command]?.shapes ?? {})
  const data: unknown = JSON.parse(printed)
  const errors = shapes.map((shape) => shape.safeParse(data).error)
  if (!errors.includes(undefined))
    expect.unreachable(
      `${line} printed what no schema of it takes: ${errors.join('; ')}\n${printed}`,
    )
  return data as Data
}

/** Output of a command that prints only a failure. */
export function failureOf(printed: string): FailureData {
  return failure.parse(JSON.parse(printed))
}
