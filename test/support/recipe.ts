import { spawnSync } from 'node:child_process'
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'

/** Files that a recipe of `docs/extending.md` creates, with their texts, and its changes to others. */
export type Recipe = {
  readonly files: ReadonlyMap<string, string>
  readonly changes: readonly { readonly file: string; readonly from: string; readonly to: string }[]
}

const FENCE = /^( *)```(ts|diff)\n([\s\S]*?)^\1```$/gm

/**
 * The recipe under a heading: each `ts` fence is a new file, each `diff` fence changes one, with `@@` between changes
 * that do not touch; the last name before the fence is the file.
 */
export function recipeOf(heading: string): Recipe {
  const [, section] = readFileSync('docs/extending.md', 'utf8').split(`\n## ${heading}\n`)
  if (section === undefined) throw new Error(`docs/extending.md has no section ${heading}`)
  const [own = ''] = section.split('\n## ')
  const files = new Map<string, string>()
  const changes: { file: string; from: string; to: string }[] = []
  for (const { 1: indent = '', 2: language, 3: body = '', index } of own.matchAll(FENCE)) {
    const file = own
      .slice(0, index)
      .match(/`(src\/[^`]+\.\w+)`/g)
      ?.at(-1)
      ?.replaceAll('`', '')
    if (file === undefined) throw new Error(`${heading}: no file is named before a fence`)
    const text = body.replaceAll(new RegExp(`^${indent}`, 'gm'), '')
    if (language === 'ts') files.set(file, text)
    else for (const hunk of text.split('@@\n')) changes.push({ file, ...changeOf(hunk) })
  }
  return { files, changes }
}

function changeOf(hunk: string): { readonly from: string; readonly to: string } {
  const lines = hunk.split('\n').filter((line) => line !== '')
  const side = (left: string) =>
    lines
      .filter((line) => !line.startsWith(left))
      .map((line) => `${line.slice(1)}\n`)
      .join('')
  return { from: side('+'), to: side('-') }
}

/** A copy of the sources in which a recipe is applied. */
export class SourceTree {
  readonly root = mkdtempSync(join(tmpdir(), 'tranched-extending-'))
  #errors: readonly string[] | undefined

  constructor() {
    for (const name of ['src', 'package.json', 'tsconfig.json'])
      cpSync(name, join(this.root, name), { recursive: true })
    symlinkSync(resolve('node_modules'), join(this.root, 'node_modules'))
  }

  follow({ files, changes }: Recipe): void {
    for (const [file, text] of files) this.write(file, text)
    for (const { file, from, to } of changes) this.change(file, from, to)
  }

  write(file: string, text: string): void {
    this.#errors = undefined
    mkdirSync(dirname(join(this.root, file)), { recursive: true })
    writeFileSync(join(this.root, file), text)
  }

  /** @throws {Error} if the file does not have the text exactly once */
  change(file: string, from: string, to: string): void {
    const parts = readFileSync(join(this.root, file), 'utf8').split(from)
    if (parts.length !== 2) throw new Error(`${file} has this ${parts.length - 1} times: ${from}`)
    this.write(file, parts.join(to))
  }

  /**
   * Errors of the compiler about the sources, one per line. It runs once after each change, incrementally, and
   * single-threaded: its threads would check the same types once each.
   */
  typeErrors(): readonly string[] {
    const compiler = resolve('node_modules/typescript-7/bin/tsc')
    const known = ['--incremental', '--tsBuildInfoFile', '.tsbuildinfo']
    this.#errors ??= spawnSync('node', [compiler, '--noEmit', '--singleThreaded', ...known], {
      cwd: this.root,
      encoding: 'utf8',
    })
      .stdout.split('\n')
      .filter((line) => /^\S/.test(line))
    return this.#errors
  }

  /** The exports of a file in this tree. */
  load(file: string): Promise<Readonly<Record<string, unknown>>> {
    return import(pathToFileURL(join(this.root, file)).href)
  }

  remove(): void {
    rmSync(this.root, { recursive: true })
  }
}
