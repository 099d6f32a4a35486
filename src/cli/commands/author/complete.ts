import { readdirSync } from 'node:fs'
import { basename } from 'node:path'
import type { Command } from 'commander'
import { complete, type Named, type TypedOptions } from '../../completion/candidates.ts'
import { type ConfigOptions, loadForReading, settingsForReading } from '../../load-files.ts'
import { defaultConfig, EXIT, type ExitCode, type Io } from '../../process/io.ts'

export function answerCompletion(root: Command, words: readonly string[], io: Io): ExitCode {
  const completion = complete(root, words, (typed, what) => namesOf(what, typed, io))
  const lines =
    completion.kind === 'words'
      ? completion.candidates.map(({ value, description }) => `${value}\t${description}`)
      : [`:${completion.kind}`]
  for (const line of lines) io.stdout.write(`${line}\n`)
  return EXIT.done
}

function namesOf(what: Named, { config, ...typed }: TypedOptions, io: Io): readonly string[] {
  const file = config ?? defaultConfig(io)
  const options = {
    config: file,
    strategiesDir: typed['strategiesDir'],
    stateDir: typed['stateDir'],
  }
  if (what === 'strategy') return strategyNames(options, io)
  const found = settingsForReading(options, io)
  return found.ok ? [...found.settings.prices.keys()] : []
}

/** Falls back to file names if a file is not sound. */
function strategyNames(options: ConfigOptions, io: Io): readonly string[] {
  const loaded = loadForReading(options, io)
  if (loaded.ok) return loaded.strategies.map(({ name }) => name)
  return loaded.settings === undefined ? [] : fileNames(loaded.settings.strategiesDir)
}

function fileNames(dir: string): string[] {
  try {
    return readdirSync(dir)
      .filter((file) => /\.ya?ml$/.test(file))
      .map((file) => basename(file).replace(/\.ya?ml$/, ''))
  } catch {
    // A completion has nowhere to show an error.
    return []
  }
}
