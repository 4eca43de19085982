{{/* What all pods and containers have in common. */}}

{{/* No label with a version: a chart that changes nothing of a pod restarts none. */}}
{{- define "pointsman.pod" -}}
{{- $own := index .root.Values .component -}}
metadata:
  labels:
    {{- include "pointsman.selector" . | nindent 4 }}
    {{- with $own.podLabels }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  {{- with $own.podAnnotations }}
  annotations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
{{- end }}

{{- define "pointsman.podspec" -}}
{{- $own := index .root.Values .component -}}
serviceAccountName: {{ include "pointsman.account" . | quote }}
# Only what talks to the API server gets a token, by a volume of its own.
automountServiceAccountToken: false
# A Service named pointsman-router would set POINTSMAN_ROUTER_PORT to tcp://...
enableServiceLinks: false
securityContext:
  runAsNonRoot: true
  runAsUser: 65532
  runAsGroup: 65532
  seccompProfile:
    type: RuntimeDefault
{{- with .root.Values.imagePullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $own.priorityClassName }}
priorityClassName: {{ . | quote }}
{{- end }}
{{- with $own.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $own.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $own.affinity }}
affinity:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with include "pointsman.spread" . }}
topologySpreadConstraints:
  {{- . | nindent 2 }}
{{- end }}
{{- end }}

{{- define "pointsman.container" -}}
image: {{ include "pointsman.image" . }}
imagePullPolicy: {{ .Values.image.pullPolicy }}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities:
    drop: [ALL]
{{- end }}

{{/* Alive is who answers at all: a restart cures nothing else. */}}
{{- define "pointsman.alive" -}}
livenessProbe:
  httpGet:
    path: /livez
    port: admin
  periodSeconds: 10
  timeoutSeconds: 5
  failureThreshold: 3
{{- end }}

{{/* The kubelet renews the token long before it expires. */}}
{{- define "pointsman.token" -}}
- name: token
  projected:
    sources:
      - serviceAccountToken:
          path: token
          expirationSeconds: 3600
      - configMap:
          name: kube-root-ca.crt
          items:
            - key: ca.crt
              path: ca.crt
      - downwardAPI:
          items:
            - path: namespace
              fieldRef:
                fieldPath: metadata.namespace
{{- end }}

{{- define "pointsman.token.mount" -}}
- name: token
  mountPath: /var/run/secrets/kubernetes.io/serviceaccount
  readOnly: true
{{- end }}

{{/* The user's constraints, or: routers keep apart where there is room, old ones not counted. */}}
{{- define "pointsman.spread" -}}
{{- $given := (index .root.Values .component).topologySpreadConstraints }}
{{- if and (not $given) (eq .component "router") }}
{{- $given = list (dict "maxSkew" 1 "topologyKey" "kubernetes.io/hostname" "whenUnsatisfiable" "ScheduleAnyway" "matchLabelKeys" (list "pod-template-hash")) }}
{{- end }}
{{- $selector := dict "matchLabels" (include "pointsman.selector" . | fromYaml) }}
{{- $constraints := list }}
{{- range $given }}
{{- $constraints = append $constraints (hasKey . "labelSelector" | ternary . (merge (dict "labelSelector" $selector) .)) }}
{{- end }}
{{- with $constraints }}
{{- toYaml . }}
{{- end }}
{{- end }}
