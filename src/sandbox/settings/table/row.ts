/** One setting of the sandbox as a person meets it: a key of the settings file and a flag of `tranched sandbox`. */
export type SettingRow = {
  /** Keys of the settings file that lead to it, joined by dots. */
  readonly path: string
  readonly flag: `--${string}`
  /** Where several settings share a flag: the word before `=` that tells which is meant. */
  readonly entry?: string
  /** What stands for the flag's value in the help. */
  readonly value: string
  /** The flag names a file: a relative path starts at the working directory, in the file at the directory of the file. */
  readonly isPath?: true
  /** What holds where nobody says anything, written as a person would; empty for none. */
  readonly byDefault: string
  readonly meaning: string
}
