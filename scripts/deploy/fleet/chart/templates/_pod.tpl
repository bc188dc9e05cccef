{{- define "pod" }}
      automountServiceAccountToken: false
      securityContext:
        runAsNonRoot: true
        runAsUser: {{ . }}
        runAsGroup: {{ . }}
        fsGroup: {{ . }}
        seccompProfile: {type: RuntimeDefault}
{{- end }}
{{- define "container" }}
          securityContext:
            allowPrivilegeEscalation: false
            readOnlyRootFilesystem: true
            capabilities: {drop: [ALL]}
{{- end }}
{{- define "disk" }}
  volumeClaimTemplates:
    - metadata: {name: data}
      spec:
        accessModes: [ReadWriteOnce]
        resources: {requests: {storage: {{ . }}}}
{{- end }}
{{- /* Fills a data directory from a secret before its first start, because the programs take only files and directories of their own user that nobody else can
read, and those of a volume belong to root. Arguments: the image, a file that a filled directory has, and a command for each start. */}}
{{- define "fill" }}
      initContainers:
        - name: fill
          image: {{ .image }}
          command: [/bin/sh, -euc, "umask 077; cd /var/lib/trefoil; mkdir -p data; test -e data/{{ .has }} || tar -x -C data -f /prepared/data.tar; {{ .then }}"]
          volumeMounts:
            - {name: data, mountPath: /var/lib/trefoil}
            - {name: prepared, mountPath: /prepared, readOnly: true}
{{- with .password }}
            - {name: {{ . }}, mountPath: /password, readOnly: true}
{{- end }}
{{- include "container" . }}
{{- end }}
