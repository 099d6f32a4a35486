import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { ROOT } from '../support/process/cli.ts'
import { type Command, commandsOf, fencesOf, PAGES } from '../support/typed/fences.ts'
import { NO_PLACEHOLDERS, NOT_TYPED, NOTES } from '../support/typed/pages.ts'
import { beginningOf, noteOf, reasonAgainst, standIn } from '../support/typed/type-pages.ts'

/** Commands are `sh` and output is `text`; the others are files or parts of files. */
const LANGUAGES = ['sh', 'text', 'yaml', 'json', 'js', 'ts', 'diff', 'md', 'ini']

const FENCES = PAGES.flatMap((page) => fencesOf(page))
const COMMANDS = FENCES.flatMap(commandsOf)
const TYPED = COMMANDS.filter((command) => reasonAgainst(command) === undefined)

const placeOf = ({ file, line, text }: Command): string => `${file}:${line}: ${text}`

test('every block of code on a page is a fence whose tag tells commands from output', () => {
  const untold = FENCES.filter(({ language }) => !LANGUAGES.includes(language))
  expect(untold.map(({ file, line, language }) => `${file}:${line} ${language}`)).toEqual([])
  const indented = PAGES.flatMap((page) => {
    const inside = new Set(
      fencesOf(page).flatMap(({ line, lines }) => lines.map((_, index) => line + index)),
    )
    const lines = readFileSync(join(ROOT, page), 'utf8').split('\n')
    return lines.flatMap((text, index) =>
      /^ {4,}\S/.test(text) && lines[index - 1] === '' && !inside.has(index + 1)
        ? [`${page}:${index + 1}: ${text}`]
        : [],
    )
  })
  expect(indented).toEqual([])
})

test('a fence yields its commands with their lines, without comments and with continued lines', () => {
  const text = [
    'A',
    '   ```sh',
    '   # why',
    '   one \\',
    '     more',
    '',
    '   two # x',
    '   ```',
    '',
  ]
  const [fence, ...others] = fencesOf('docs/a.md', text.join('\n'))
  expect(others).toEqual([])
  expect(fence && commandsOf(fence)).toEqual([
    { file: 'docs/a.md', line: 4, text: 'one \\\n  more' },
    { file: 'docs/a.md', line: 7, text: 'two # x' },
  ])
})

test('a fence or a command that does not end is an error with its place', () => {
  expect(() => fencesOf('docs/a.md', 'A\n```sh\none\n')).toThrow('docs/a.md:2')
  const [fence] = fencesOf('docs/a.md', '```sh\none \\\n```\n')
  expect(() => fence && commandsOf(fence)).toThrow('docs/a.md:2')
})

test('output and files on a page are no commands', () => {
  expect(fencesOf('docs/a.md', '```text\n$ one\n```\n').flatMap(commandsOf)).toEqual([])
})

test('every reason not to type a command is the reason of one', () => {
  const beginnings = Object.keys(NOT_TYPED)
  const used = new Set(COMMANDS.map(({ text }) => beginningOf(text, beginnings)))
  expect(beginnings.filter((beginning) => !used.has(beginning))).toEqual([])
})

test('every note on a command is on one that is typed', () => {
  const used = new Set(TYPED.map((command) => `${command.file} ${noteOf(command).key}`))
  const all = Object.entries(NOTES).flatMap(([file, notes]) =>
    Object.keys(notes).map((beginning) => `${file} ${beginning}`),
  )
  expect(all.filter((each) => !used.has(each))).toEqual([])
})

test('every placeholder has a stand-in, and every stand-in a place', () => {
  const open = TYPED.flatMap((command) => {
    const { note } = noteOf(command)
    const text = standIn(command.text, note).replaceAll(/ #.*$|'[^']*'/gm, '')
    const capitals = text.match(/(?<![\w$/-])[A-Z][A-Z_]+\b|(?<= )[A-Z](?= |$)/g) ?? []
    const found = [
      ...capitals.filter((word) => !NO_PLACEHOLDERS.test(word)),
      ...(standIn(command.text, note).match(/\.\.\.|<\w+>|YOUR\w*/g) ?? []),
    ]
    return found.map((word) => `${placeOf(command)}: ${word}`)
  })
  expect(open).toEqual([])
  const replaced = new Set(
    TYPED.flatMap((command) => {
      const { key, note } = noteOf(command)
      return Object.keys(note.as ?? {})
        .filter((shown) => command.text.includes(shown))
        .map((shown) => `${command.file} ${key}: ${shown}`)
    }),
  )
  const all = Object.entries(NOTES).flatMap(([file, notes]) =>
    Object.entries(notes).flatMap(([key, { as = {} }]) =>
      Object.keys(as).map((shown) => `${file} ${key}: ${shown}`),
    ),
  )
  expect(all.filter((each) => !replaced.has(each))).toEqual([])
})
