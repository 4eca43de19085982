{{/* Values as a program reads them from its environment. */}}

{{/* JSON spells a number without an exponent, which %v does from a million on. $( would name
     another variable, and $$ is a $. */}}
{{- define "pointsman.text" -}}
{{- if kindIs "slice" . }}
{{- join "," . | replace "$" "$$" }}
{{- else if kindIs "string" . }}
{{- replace "$" "$$" . }}
{{- else }}
{{- toJson . }}
{{- end }}
{{- end }}

{{/* computed: what the chart knows itself, by variable; settings: the user's, in camelCase. */}}
{{- define "pointsman.environment" -}}
{{- $program := .program }}
{{- range $name, $value := .computed }}
- name: POINTSMAN_{{ $program }}_{{ $name }}
  value: {{ include "pointsman.text" $value | quote }}
{{- end }}
{{- range $name, $value := .settings }}
{{- if not (kindIs "invalid" $value) }}
- name: POINTSMAN_{{ $program }}_{{ snakecase $name | upper }}
  value: {{ include "pointsman.text" $value | quote }}
{{- end }}
{{- end }}
{{- end }}

{{/* Every name by which agents may call the Service, and a port-forward. */}}
{{- define "pointsman.hosts" -}}
{{- $name := include "pointsman.fullname" . }}
{{- $space := .Release.Namespace }}
{{- $within := list $name (printf "%s.%s" $name $space) (printf "%s.%s.svc" $name $space) (printf "%s.%s.svc.%s" $name $space .Values.clusterDomain) }}
{{- join "," (concat (list "localhost" "127.0.0.1" "[::1]") $within (.Values.router.allowedHosts | default list)) }}
{{- end }}

{{/* The router serves on for lingerSeconds, then ends calls for drainSeconds. After that come 4 s
     of its farewells and the mirror's end; the rest is room for a busy node. */}}
{{- define "pointsman.router.grace" -}}
{{- with .Values.router.settings }}
{{- addf .lingerSeconds .drainSeconds | ceil | int | add 15 }}
{{- end }}
{{- end }}
