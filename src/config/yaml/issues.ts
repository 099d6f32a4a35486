import type { z } from 'zod'
import { nearest } from '../../domain/text/nearest.ts'
import type { IssueDetails } from '../scalars.ts'
import { type Fault, type Tree, valueAt } from './document.ts'
import type { Path } from './problem.ts'

type Issue = z.core.$ZodIssue

/** Turns zod's issues into faults. Texts come from the schemas (see `scalars.ts`) and the tree, never from zod. */
export function faultsOfIssues(tree: Tree, issues: readonly Issue[]): Fault[] {
  return issues.flatMap((issue) => faultsOfIssue(tree, issue))
}

function faultsOfIssue(tree: Tree, issue: Issue): Fault[] {
  const path = issue.path.filter((part) => typeof part !== 'symbol')
  switch (issue.code) {
    case 'unrecognized_keys':
      return issue.keys.map((key) => unknownKey([...path, key], key, issue.message))
    case 'invalid_key': {
      const expected = issue.issues[0]?.message ?? 'a plain word'
      return [{ path, at: 'key', message: 'this is not a usable name', expected }]
    }
    case 'invalid_union':
      return unionFaults(tree, path, issue)
    case 'custom':
      return [customFault(path, issue)]
    case 'invalid_value':
      return [messageFault(tree, path, issue)]
    default:
      return [shapeFault(tree, path, issue, issue.code === 'invalid_type' ? issue.expected : '')]
  }
}

/** Unions join a scalar and a map, in this order; the shape of the value tells which was meant. */
function unionFaults(tree: Tree, path: Path, issue: z.core.$ZodIssueInvalidUnion): Fault[] {
  const value = valueAt(tree, path)
  const meant = typeof value === 'string' ? issue.errors[0] : issue.errors.at(-1)
  if (meant === undefined || value === null || value === undefined || Array.isArray(value))
    return [shapeFault(tree, path, issue, 'object')]
  return meant.flatMap((inner) =>
    faultsOfIssue(tree, { ...inner, path: [...path, ...inner.path] } as Issue),
  )
}

function unknownKey(path: Path, key: string, allowed: string): Fault {
  const suggestion = nearest(key, allowed.split(', '))
  return { path, at: 'key', message: 'unknown key', expected: `one of: ${allowed}`, suggestion }
}

function customFault(path: Path, issue: z.core.$ZodIssueCustom): Fault {
  const { message } = issue
  const { expected = message, suggestion, part } = (issue.params ?? {}) as Partial<IssueDetails>
  return { path, message, expected, suggestion, part }
}

function messageFault(tree: Tree, path: Path, issue: z.core.$ZodIssueInvalidValue): Fault {
  const value = valueAt(tree, path)
  if (typeof value !== 'string')
    return { path, message: shapeMessage(tree, path), expected: issue.message }
  const suggestion = nearest(value, issue.values.map(String))
  return { path, message: 'this word is not known here', expected: issue.message, suggestion }
}

function shapeFault(tree: Tree, path: Path, { message: expected }: Issue, wanted: string): Fault {
  const hint = shapeHint(tree, path, wanted)
  return { path, message: shapeMessage(tree, path), expected, hint }
}

/** The same values in the wanted shape, if only dashes or brackets differ. */
function shapeHint(tree: Tree, path: Path, wanted: string): string | undefined {
  const key = path.at(-1)
  const value = valueAt(tree, path)
  if (typeof key !== 'string' || value === null || value === undefined) return undefined
  const meant = wanted === 'array' ? asList(value) : asMap(value, wanted)
  const text = meant && flowText(meant)
  return text === undefined ? undefined : `\`${key}: ${text}\``
}

function asList(value: Tree): Tree | undefined {
  if (typeof value === 'string')
    return value.includes(',') ? value.split(',').map((part) => part.trim()) : undefined
  return Array.isArray(value) ? undefined : [value]
}

/** Merges a list of maps without common keys. */
function asMap(value: Tree, wanted: string): Tree | undefined {
  if (!Array.isArray(value) || (wanted !== 'object' && wanted !== 'record')) return undefined
  const items: readonly Tree[] = value
  const entries = items.flatMap((item) =>
    typeof item === 'object' && item !== null && !Array.isArray(item) ? Object.entries(item) : [],
  )
  const names = new Set(entries.map(([name]) => name))
  const isWhole = items.length > 0 && entries.length >= items.length
  return isWhole && names.size === entries.length ? Object.fromEntries(entries) : undefined
}

const FLOW_MAX = 120
const PLAIN = /^(?:[A-Za-z_][\w./-]*|\d+(?:\.\d+)?%|\d+[smhd])$/

/** A value as one line of YAML; undefined if it is too long. */
function flowText(value: Tree): string | undefined {
  const text = flowOf(value)
  return text.length > FLOW_MAX ? undefined : text
}

function flowOf(value: Tree): string {
  if (value === null) return 'null'
  if (typeof value === 'string') return PLAIN.test(value) ? value : JSON.stringify(value)
  if (Array.isArray(value)) return `[${value.map(flowOf).join(', ')}]`
  const entries = Object.entries(value).map(([name, inner]) => `${name}: ${flowOf(inner)}`)
  return entries.length === 0 ? '{}' : `{ ${entries.join(', ')} }`
}

function shapeMessage(tree: Tree, path: Path): string {
  const value = valueAt(tree, path)
  if (value === undefined) return 'this key is missing'
  if (value === null) return path.length === 0 ? 'this file is empty' : 'this value is empty'
  if (typeof value === 'string') return 'this is a single value'
  if (Array.isArray(value)) return value.length === 0 ? 'this list is empty' : 'this is a list'
  return 'this is a map'
}
