import { expect } from 'vitest'
import { OUTPUTS } from '../../src/cli/json/outputs.ts'
import { type FailureData, failure } from '../../src/cli/json/shapes.ts'

/** The words of the command that a line begins with: those of a subcommand rather than of the command above it. */
export function commandOf(line: string): string | undefined {
  return Object.keys(OUTPUTS)
    .filter((words) => `${line} `.startsWith(`${words} `))
    .toSorted((a, b) => a.length - b.length)
    .at(-1)
}

/**
 * What a command printed under `--json` and nothing else, held strictly against its schemas; not a mere failure. The line may go on
 * behind the words of the command.
 */
export function outputOf<Data>(line: string, printed: string): Data {
  const words = commandOf(line) ?? ''
  const shapes = Object.values(OUTPUTS[words]?.shapes ?? {})
  const data: unknown = JSON.parse(printed)
  const errors = shapes.map((shape) => shape.safeParse(data).error)
  if (!errors.includes(undefined))
    expect.unreachable(
      `${line} printed what no schema of it takes: ${errors.join('; ')}\n${printed}`,
    )
  return data as Data
}

/** What a command printed that had nothing but a failure to tell. */
export function failureOf(printed: string): FailureData {
  return failure.parse(JSON.parse(printed))
}
