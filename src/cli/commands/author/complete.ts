import { readdirSync } from 'node:fs'
import { basename } from 'node:path'
import type { Command } from 'commander'
import { complete, type Named, type TypedOptions } from '../../completion/candidates.ts'
import { defaultConfig, EXIT, type ExitCode, type Io } from '../../io.ts'
import { type ConfigOptions, loadForReading, settingsForReading } from '../../load.ts'

/** `tranched complete -- WORDS`: what a shell's completion asks. The last word is the one that is being typed. */
export function answerCompletion(root: Command, words: readonly string[], io: Io): ExitCode {
  const completion = complete(root, words, (typed, what) => namesOf(what, typed, io))
  const lines =
    completion.kind === 'words'
      ? completion.candidates.map(({ value, description }) => `${value}\t${description}`)
      : [`:${completion.kind}`]
  for (const line of lines) io.stdout.write(`${line}\n`)
  return EXIT.done
}

/** Those of the files that the typed options lead to. */
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

/** Where a file is not sound, the names of the files stand for them. */
function strategyNames(options: ConfigOptions, io: Io): readonly string[] {
  const loaded = loadForReading(options, io)
  if (loaded.ok) return loaded.strategies.map(({ name }) => name)
  const found = settingsForReading(options, io)
  return found.ok ? fileNames(found.settings.strategiesDir) : []
}

function fileNames(dir: string): string[] {
  try {
    return readdirSync(dir)
      .filter((file) => /\.ya?ml$/.test(file))
      .map((file) => basename(file).replace(/\.ya?ml$/, ''))
  } catch {
    // Nobody reads an error between two keystrokes.
    return []
  }
}
